//! Asks a health page of a running server: `tidegate health live`, `tidegate health ready`.
//!
//! Probes of containers run it, so an image needs no shell. What the page says is printed, and
//! whatever is not 200 ends with code 1.
//! Never here: what makes a server ready, which is in `admin.rs`.

use anyhow::Result;

use crate::cli::HealthArgs;
use crate::commands;
use crate::exit::Exit;
use crate::output;

/// `tidegate health …`
pub(crate) fn command(args: &HealthArgs) -> Result<()> {
    let listener = commands::listener(&args.admin)?;
    let path = format!("/health/{}", args.page);
    let reply = commands::send_admin(listener, "GET", &path, b"")?;
    output::print_cleaned(&String::from_utf8_lossy(&reply.body))?;
    if reply.status != 200 {
        return Err(Exit(1).into());
    }
    Ok(())
}

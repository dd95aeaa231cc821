//! The ranking service in Python, twice: with numpy and orjson, and plain; one worker each.

use std::path::Path;

use anyhow::Result;

use crate::process::Server;
use crate::setup::{Setup, free_address};

/// Starts `APP:app` of bench/peers under uvicorn over the ranking data in `data`.
pub(crate) fn start(setup: &Setup, name: &str, app: &str, data: &Path) -> Result<Server> {
    let dir = setup.dir("python")?;
    let address = free_address()?;
    let python = setup.python()?;
    let apps = setup.root().join("bench/peers");
    let data = format!("RANKER_DATA={}", data.display());
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let (python, app) = (python.to_string_lossy(), format!("{app}:app"));
    let apps = apps.to_string_lossy();
    let command = [
        "env",
        &data,
        "OMP_NUM_THREADS=1",
        "OPENBLAS_NUM_THREADS=1",
        "PYTHONDONTWRITEBYTECODE=1",
        &python,
        "-m",
        "uvicorn",
        &app,
        "--app-dir",
        &apps,
        "--host",
        &host,
        "--port",
        &port,
        "--loop",
        "uvloop",
        "--http",
        "httptools",
        "--no-access-log",
        "--log-level",
        "warning",
    ];
    Server::start(name, &command, &dir, address, "/ping")
}

//! Shows records of Varnish's log one by one, as `varnishlog -g raw` writes them.
//!
//! A query is asked of each record alone, at level 0, and records of no transaction (VXID 0) are
//! there, too. In grouped text the header says the VXID, and the side by its kind.
//! Invariant: nothing is held but one record.
//! Never here: exchanges, so neither filters nor vlogdump's options.

use std::io;

use crate::assembly::Alone;
use crate::limits::{Gauge, WatchCounts};
use crate::output::Show;
use crate::query::Query;
use crate::seconds::{micros, words};
use crate::summary::Era;
use crate::tag::Tag;
use crate::transaction::Kind;
use crate::varnish::{VarnishRecord, grouped_record, header, legacy_record, raw_record};

/// Reads records and shows those that a query selects.
pub(crate) struct Records {
    era: Era,
    /// VXID and side of the header before.
    open: Option<(u64, u8)>,
    alone: Alone,
    now_us: u64,
}

impl Records {
    pub(crate) fn new(era: Era) -> Self {
        Self { era, open: None, alone: Alone::default(), now_us: 0 }
    }

    /// Reads a line, and shows its record if it is asked for.
    pub(crate) fn line<S: Show>(
        &mut self,
        line: &[u8],
        query: Option<&Query>,
        (gauge, counts, output): (&mut Option<Gauge>, &mut WatchCounts, &mut S),
    ) -> io::Result<()> {
        if line.is_empty() {
            return Ok(());
        }
        if self.era == Era::Modern
            && let Some(header) = header(line)
        {
            let side = if header.kind == Kind::Backend { b'b' } else { b'c' };
            self.open = Some((header.vxid, side));
            return Ok(());
        }
        let Some(record) = self.record(line) else {
            counts.unread += 1;
            return Ok(());
        };
        if record.tag == Tag::TIMESTAMP {
            let time = words(record.data).nth(1).and_then(micros).unwrap_or(0);
            self.now_us = self.now_us.max(time);
        }
        let group = self.alone.group(record.vxid, (record.tag.modern(), record.data));
        if query.is_some_and(|query| !query.matches(group)) {
            return Ok(());
        }
        if gauge.as_mut().is_some_and(|gauge| !gauge.admits(self.now_us)) {
            counts.over_rate += 1;
            return Ok(());
        }
        counts.shown += 1;
        output.write_record(&record)
    }

    fn record<'a>(&self, line: &'a [u8]) -> Option<VarnishRecord<'a>> {
        match (self.era, line.first()) {
            (Era::Legacy, _) => legacy_record(line),
            (Era::Modern, Some(b'-')) => {
                let record = grouped_record(line)?;
                let (vxid, side) = self.open?;
                Some(if record.vxid == 0 { VarnishRecord { vxid, side, ..record } } else { record })
            }
            (Era::Modern, _) => raw_record(line),
        }
    }
}

#[cfg(test)]
mod tests;

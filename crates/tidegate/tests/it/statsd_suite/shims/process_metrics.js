// Statistics are those of a flush of the same tables.
const ask = require('./eval');

exports.process_metrics = function (metrics, shown, interval_ms, ts, flushed) {
  const begun = Date.now();
  const timers = {};
  for (const name in metrics.timers) {
    timers[name] = { values: metrics.timers[name], count: metrics.timer_counters[name] };
  }
  const { flush } = ask({ flush: {
    counters: metrics.counters, timers, interval_s: interval_ms / 1000,
    percentiles: metrics.pctThreshold || [], statistics: Array.isArray(shown) ? shown : [],
    histograms: (metrics.histogram || []).map(({ metric, bins }) => ({ part: metric, bins })),
  } });
  Object.assign(metrics, flush, { statsd_metrics: { processing_time: Date.now() - begun } });
  flushed(metrics);
};

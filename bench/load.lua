-- Prints the result of one run of wrk as a line of JSON.

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"perSecond":%f,"p50Ms":%f,"p99Ms":%f,"maxMs":%f,"errors":%d}\n',
    summary.requests, summary.requests / summary.duration * 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout
  ))
end

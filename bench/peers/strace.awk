# Calls of a trace of strace, by name: the first line of a call, whole or not.
# Without a look at arguments, results, times or threads.
{
  call = $3
  if (call ~ /^[a-z_0-9]+\(/) {
    sub(/\(.*/, "", call)
    calls[call]++
  }
}
END { for (call in calls) print call, calls[call] }

# Records each command of bash at syslog before it runs, as auth.info, in this form:
#
#     Mar 30 10:48:05 big1 nagios: Running /usr/lib/nagios/plugins/check_tcp -p 3306
#
# For everybody who logs in, save this as /etc/profile.d/audit.sh. For one account, put it into the
# .bashrc of that account. Debian's .bashrc returns early where a shell is not interactive, as those
# of `ssh HOST COMMAND` are; put it before that line. For scripts, name the file in BASH_ENV.
#
# It is a record and no guard:
# - Whoever runs the shell can switch it off: `trap - DEBUG`, or `bash --norc`.
# - Only bash obeys it, and only shells that have read this file. Programs do not: what python or
#   make run is not seen.
# - There is a line for each simple command, so a pipeline has several, and so has a loop.
# - Commands in functions and subshells need `set -o functrace`.
# - Arguments are recorded as they are typed, before variables are replaced. Secrets among them are
#   recorded, too: give a password by a file or by standard input.
# - Control characters become spaces, and a line is cut after 1,900 characters.
# - It replaces any other DEBUG trap, such as that of a prompt.
# - A command takes about a millisecond longer, for `logger` is a process.
if [ -n "${BASH_VERSION-}" ] && command -v logger >/dev/null 2>&1; then
    __audit_user=$(id -un)
    __audit() {
        local line=${1//[[:cntrl:]]/ }
        # Whether or not it fails: `set -e` would end the shell.
        logger --size 4096 -p auth.info -t "$__audit_user" -- "Running ${line:0:1900}" >/dev/null 2>&1 || :
        # With `extdebug`, anything but 0 would keep the command from being run.
        return 0
    }
    # The second argument keeps what $_ was.
    trap '__audit "$BASH_COMMAND" "$_"' DEBUG
fi

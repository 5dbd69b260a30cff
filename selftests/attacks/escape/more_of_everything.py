# /// attack
# tries = "raises its own limits"
# outcomes = ["exception", "passed"]
# rides = true
# marks = "reference"
# ///

import resource

for name in (resource.RLIMIT_FSIZE, resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NOFILE):
    try:
        resource.setrlimit(name, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (OSError, ValueError):
        continue

"""Has the calls of a CSV one hump or several? Hartigans' dip test, by the package diptest.

Up to 72,000 calls the p-value is by bootstrap, of as many draws as Tidegate's null has at most;
beyond, by the package's table.
"""

import sys

import diptest
import numpy

calls = numpy.loadtxt(sys.argv[1], delimiter=",", skiprows=1, usecols=1)
bootstraps = {"boot_pval": True, "n_boot": 1999, "seed": 2} if len(calls) <= 72_000 else {}
dip, p = diptest.diptest(calls, **bootstraps)
print(dip, p)

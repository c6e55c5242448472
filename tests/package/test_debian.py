#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The Debian package: built by dpkg-buildpackage from the files of the tree, clean to lintian, and installed in
a bare root, where it records a program.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()
PLACE = tempfile.TemporaryDirectory(prefix="heapwise-package-")
BUILT = Path(PLACE.name)
LONG = 3000


def need_built():
    found = sorted(BUILT.glob("*.deb"))
    if not found:
        raise hw.Skip("there is no package")
    return found


def copy_tree():
    """The tree's own files, as a source package has them."""
    tree = BUILT / "heapwise"
    tree.mkdir()
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=hw.SOURCE,
                            stdout=subprocess.PIPE, check=True).stdout
    names = b"\0".join(name for name in listed.split(b"\0") if (hw.SOURCE / name.decode()).exists())
    packed = subprocess.run(["tar", "-c", "--null", "-T", "-"], cwd=hw.SOURCE, input=names, stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "-x", "-C", tree], input=packed.stdout, check=True)
    return tree


@TESTS.test
def build(_):
    """dpkg-buildpackage makes a source package, two packages and their debug symbols"""
    hw.need_program("dpkg-buildpackage")
    hw.need_program("dh")
    tree = copy_tree()
    env = hw.clean_environment(DEB_BUILD_OPTIONS=f"parallel={os.cpu_count()}")
    ended = hw.run(["dpkg-buildpackage", "-us", "-uc"], cwd=tree, env=env, timeout=LONG)
    hw.need(ended.status == 0, f"{ended}; {ended.text[-3000:]}")
    names = sorted(path.name.split("_")[0] for path in need_built())
    hw.need(names == ["heapwise", "heapwise-dbgsym", "heapwise-dev"], f"packages: {names}")


@TESTS.test
def lintian(_):
    """lintian finds no errors and no warnings in the sources and the packages"""
    need_built()
    lint = hw.need_program("lintian")
    ended = hw.run([lint, "--allow-root", "--fail-on", "error,warning", *BUILT.glob("*.dsc"), *BUILT.glob("*.deb")],
                   timeout=LONG)
    hw.need(ended.status == 0, f"{ended}; {ended.text}")


@TESTS.test
def contents(_):
    """The packages have the command, what it loads, a manual page for each command, completions and the header"""
    need_built()
    listed = {}
    for path in BUILT.glob("*.deb"):
        listed[path.name.split("_")[0]] = hw.run(["dpkg-deb", "-c", path]).text
    for name in ("usr/bin/heapwise", "heapwise/libheapwise-rt.so", "heapwise/libheapwise-lsan.so", "heapwise/libheapwise-mtrace.so", "heapwise/libheapwise-jemalloc.so", "heapwise/libheapwise-gperftools.so", "heapwise/libheapwise-guard.so", "heapwise/libheapwise-java.so",
                 "man1/heapwise-report.1.gz", "man1/heapwise.1.gz", "bash-completion/completions/heapwise",
                 "vendor-completions/_heapwise", "vendor_completions.d/heapwise.fish", "doc/heapwise/docs/guide.md", "doc/heapwise/docs/images/peak-flame.svg"):
        hw.need(f"{name}\n" in listed["heapwise"], f"{name} is not in heapwise")
    for name in ("usr/include/heapwise/client.h", "pkgconfig/heapwise.pc"):
        hw.need(f"{name}\n" in listed["heapwise-dev"], f"{name} is not in heapwise-dev")


@TESTS.test
def installed(_):
    """In a bare root apt installs them with what they depend on; a program is recorded there"""
    packages = [path for path in need_built() if "dbgsym" not in path.name]
    if os.geteuid() != 0:
        raise hw.Skip("only root can make a root")
    hw.need_program("debootstrap")
    script = (
        "set -e; apt-get -q update; apt-get -q install --yes --no-install-recommends /srv/files/heapwise_*.deb; "
        "cd /tmp; heapwise doctor; heapwise run -q -o x.hpw ls /; heapwise report x.hpw; heapwise version --verbose; "
        "apt-get -q remove --yes heapwise; test ! -e /usr/bin/heapwise; echo all of it worked"
    )
    files = [word for path in packages for word in ("--file", path)]
    ended = hw.run([hw.SOURCE / "tools/bare-root", *files, f"bash -c '{script}'"], timeout=LONG,
                   env=dict(os.environ))  # the base system is kept in the home of who tests
    hw.need(ended.status == 0 and "all of it worked" in ended.text, f"{ended}; {ended.text[-2000:]}")


if __name__ == "__main__":
    TESTS.main(width=1, needs_command=False)

#!/usr/bin/env python3
"""Makes a wheel that carries the program, from an archive of a release.

    packaging/wheel.py 0.2.0 target/packages/recto-0.2.0-x86_64-unknown-linux-musl.tar.gz

It is left in target/packages/wheels. WHEEL_NAME is the name of the package.
"""

import base64
import hashlib
import os
import pathlib
import sys
import tarfile
import zipfile

# The program is static on Linux, so that any libc will do.
PLATFORMS = {
    "x86_64-unknown-linux-musl": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    "aarch64-unknown-linux-musl": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "x86_64-apple-darwin": "macosx_11_0_x86_64",
    "aarch64-apple-darwin": "macosx_11_0_arm64",
    "x86_64-pc-windows-msvc": "win_amd64",
}


def contents(archive):
    """The files of an archive by their names, without the folder around them."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as opened:
            for name in opened.namelist():
                if not name.endswith("/"):
                    yield name.split("/", 1)[1], opened.read(name)
    else:
        with tarfile.open(archive) as opened:
            for member in opened.getmembers():
                if member.isfile():
                    yield member.name.split("/", 1)[1], opened.extractfile(member).read()


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: packaging/wheel.py VERSION ARCHIVE")
    version, archive = sys.argv[1], pathlib.Path(sys.argv[2])
    name = os.environ.get("WHEEL_NAME", "recto-cli")
    target = archive.name.removeprefix(f"recto-{version}-")
    target = target.removesuffix(".tar.gz").removesuffix(".zip")
    platform = PLATFORMS.get(target)
    if platform is None:
        sys.exit(f"no wheel for {target}; the targets are {', '.join(PLATFORMS)}")
    files = dict(contents(archive))
    plain = name.replace("-", "_")
    info, scripts = f"{plain}-{version}.dist-info", f"{plain}-{version}.data/scripts"
    program = "recto.exe" if "windows" in target else "recto"
    metadata = "\n".join([
        "Metadata-Version: 2.4",
        f"Name: {name}",
        f"Version: {version}",
        "Summary: Search, read, watch, repair and edit your Claude Code sessions",
        "License-Expression: MIT OR Apache-2.0",
        "License-File: LICENSE-MIT",
        "License-File: LICENSE-APACHE",
        "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown",
        "",
        files["README.md"].decode(),
    ])
    tags = [f"Tag: py3-none-{one}" for one in platform.split(".")]
    wheel = "\n".join(["Wheel-Version: 1.0", "Generator: recto", "Root-Is-Purelib: false", *tags, ""])
    parts = {
        f"{scripts}/{program}": files[program],
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": wheel.encode(),
        f"{info}/licenses/LICENSE-MIT": files["LICENSE-MIT"],
        f"{info}/licenses/LICENSE-APACHE": files["LICENSE-APACHE"],
    }
    out = pathlib.Path(__file__).resolve().parent.parent / "target/packages/wheels"
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{plain}-{version}-py3-none-{platform}.whl"
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for part, data in parts.items():
            entry = zipfile.ZipInfo(part, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if part.startswith(scripts) else 0o100644) << 16
            made.writestr(entry, data, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{part},sha256={digest},{len(data)}")
        record.append(f"{info}/RECORD,,\n")
        made.writestr(zipfile.ZipInfo(f"{info}/RECORD", (1980, 1, 1, 0, 0, 0)), "\n".join(record))
    print(path)


main()

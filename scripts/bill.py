#!/usr/bin/python3
"""What is inside a release: our own code, the engine's crates and the Debian archives linked in.

    bill.py spdx NAME VERSION EPOCH    an SPDX 2.3 document as JSON; EPOCH is its date
    bill.py notices                    the licences of all that is linked in, each text once

The same checkout, toolchain and packages give the same bytes.
"""

import datetime
import glob
import hashlib
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tomllib
import urllib.parse
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENGINES = ("runtime", "compiler")
LICENCE_FILES = ("LICEN[CS]E*", "COPYING*", "COPYRIGHT*", "NOTICE*", "UNLICENSE*")

# Package with the static archive, and the licence of what is linked from it.
DEBIAN = {
    "libjansson-dev": "MIT",
    "libsodium-dev": "ISC",
    "libc6-dev": "LGPL-2.1-or-later",
    "musl-dev": "MIT",
    "libgcc-dev": "GPL-3.0-or-later WITH GCC-exception-3.1",
}


class Part:
    """One thing somebody else made. linked: it is in our programs; else it only helped to build."""

    def __init__(self, kind, name, version, licence, linked=True, sha256=None, texts=()):
        self.name, self.version, self.licence = name, version, licence
        self.linked, self.sha256, self.texts = linked, sha256, texts
        self.purl = f"pkg:{kind}/{name}@{urllib.parse.quote(version)}"
        self.id = "SPDXRef-" + re.sub("[^A-Za-z0-9.]", "-", f"{kind}-{name}-{version}")

    def spdx(self):
        package = {
            "SPDXID": self.id,
            "name": self.name,
            "versionInfo": self.version,
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION",
            "licenseDeclared": self.licence,
            "copyrightText": "NOASSERTION",
            "externalRefs": [
                {
                    "referenceCategory": "PACKAGE-MANAGER",
                    "referenceType": "purl",
                    "referenceLocator": self.purl,
                }
            ],
        }
        if self.sha256:
            package["checksums"] = [{"algorithm": "SHA256", "checksumValue": self.sha256}]
        return package


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


# ---- the engine's crates ---------------------------------------------------------------------


def metadata(manifest):
    host = next(
        line.split()[1] for line in output("rustc", "-vV").splitlines() if line.startswith("host:")
    )
    command = ("cargo", "metadata", "--quiet", "--locked", "--format-version=1")
    return json.loads(output(*command, f"--filter-platform={host}", f"--manifest-path={manifest}"))


def linked_ids(meta, packages):
    """Reached from the root by plain dependencies, and not by way of a compiler's plug-in."""
    nodes = {node["id"]: node for node in meta["resolve"]["nodes"]}
    found, todo = set(), [meta["resolve"]["root"]]
    while todo:
        crate = todo.pop()
        if crate in found or any("proc-macro" in t["kind"] for t in packages[crate]["targets"]):
            continue
        found.add(crate)
        for dependency in nodes[crate]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                todo.append(dependency["pkg"])
    return found


def licence_texts(folder, patterns=LICENCE_FILES):
    names = {name for pattern in patterns for name in glob.glob(f"{folder}/{pattern}")}
    return [pathlib.Path(name).read_text(errors="replace") for name in sorted(names)]


def engine_crates(engine):
    folder = ROOT / "src/engine" / engine
    meta = metadata(folder / "Cargo.toml")
    packages = {package["id"]: package for package in meta["packages"]}
    linked = linked_ids(meta, packages)
    with open(folder / "Cargo.lock", "rb") as file:
        locked = {(p["name"], p["version"]): p for p in tomllib.load(file)["package"]}
    for crate, package in packages.items():
        name, version = package["name"], package["version"]
        sha256 = locked[name, version].get("checksum")
        if sha256:  # else it is the ten lines of ours
            licence = (package["license"] or "NOASSERTION").replace(" / ", "/").replace("/", " OR ")
            texts = licence_texts(os.path.dirname(package["manifest_path"]))
            yield Part("cargo", name, version, licence, crate in linked, sha256, texts)


def crates():
    """Of both engines; linked into one of them is linked."""
    found = {}
    for engine in ENGINES:
        for part in engine_crates(engine):
            if part.id not in found or part.linked:
                found[part.id] = part
    return found.values()


# ---- the rest --------------------------------------------------------------------------------


def debian_parts():
    gcc = output("gcc", "-dumpversion").split(".")[0]
    for package, licence in DEBIAN.items():
        package = package.replace("libgcc-dev", f"libgcc-{gcc}-dev")
        version = output("dpkg-query", "-W", "-f", "${Version}", package)
        texts = licence_texts(f"/usr/share/doc/{package}", ["copyright"])
        yield Part("deb/debian", package, version, licence, texts=texts)


def rust_library():
    version = output("rustc", "--version").split()[1]
    folder = output("rustc", "--print", "sysroot") + "/share/doc/rust/licenses"
    texts = licence_texts(folder, ["MIT.txt", "Apache-2.0.txt"])
    return Part("generic", "rust-std", version, "MIT OR Apache-2.0", texts=texts)


def parts():
    found = [*crates(), *debian_parts(), rust_library()]
    return sorted(found, key=lambda part: (part.name, part.version))


def relationship(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def print_spdx(name, version, epoch):
    found = parts()
    own = Part("generic", "wasp", version, "Apache-2.0")
    own.purl += f"?arch={platform.machine()}&os=linux"
    relationships = [relationship("SPDXRef-DOCUMENT", "DESCRIBES", own.id)]
    for part in found:
        if part.linked:
            relationships.append(relationship(own.id, "STATIC_LINK", part.id))
        else:
            relationships.append(relationship(part.id, "BUILD_DEPENDENCY_OF", own.id))
    packages = [part.spdx() for part in [own, *found]]
    digest = hashlib.sha256(json.dumps([name, epoch, packages]).encode()).hexdigest()
    created = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc)
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": uuid.uuid5(uuid.NAMESPACE_OID, digest).urn,
        "creationInfo": {
            "created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": [f"Tool: wasp-bill-{version}"],
        },
        "packages": packages,
        "relationships": relationships,
    }
    print(json.dumps(document, indent=2))


def print_notices():
    linked = [part for part in parts() if part.linked]
    users = {}
    for part in linked:
        for text in part.texts:
            users.setdefault(text.strip(), []).append(f"{part.name} {part.version}")
    print("wasp's programs contain, statically linked:\n")
    for part in linked:
        print(f"  {part.name} {part.version}: {part.licence}")
    for text, names in users.items():
        print("\n" + "=" * 80 + "\n" + ", ".join(names) + "\n" + "-" * 80 + "\n\n" + text)


def main():
    match sys.argv[1:]:
        case ["spdx", name, version, epoch]:
            print_spdx(name, version, epoch)
        case ["notices"]:
            print_notices()
        case _:
            sys.exit("usage: bill.py spdx NAME VERSION EPOCH | notices")


if __name__ == "__main__":
    main()

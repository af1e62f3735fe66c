#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""packaging/daemonset.yaml has no field that Kubernetes does not have, and none of another type:
compared with the API's schema as Debian's Python client carries it. Usage: daemonset.py TREE"""
import pathlib
import re
import sys

EXIT_SKIP = 77
PLAIN = {"str": str, "int": int, "bool": bool, "object": (str, int)}

try:
    import yaml
    from kubernetes import client
except ImportError as missing:
    print(f"skipped: needs {missing.name} (Debian: python3-kubernetes)")
    sys.exit(EXIT_SKIP)


def check(value, kind, path):
    of_list, of_dict = re.fullmatch(r"list\[(.*)\]", kind), re.fullmatch(r"dict\(str, (.*)\)", kind)
    if of_list or of_dict:
        assert isinstance(value, list if of_list else dict), f"{path}: is no {kind}"
        for key, one in enumerate(value) if of_list else value.items():
            check(one, (of_list or of_dict)[1], f"{path}[{key}]")
    elif kind in PLAIN:
        # YAML takes `yes` and `1` for what they look like.
        assert isinstance(value, PLAIN[kind]) and (
            kind == "bool" or not isinstance(value, bool)), f"{path}: {value!r} is no {kind}"
    else:
        model = getattr(client, kind)
        names = {name: attribute for attribute, name in model.attribute_map.items()}
        for name, one in value.items():
            assert name in names, f"{path}: {kind} has no {name}: {', '.join(names)}"
            check(one, model.openapi_types[names[name]], f"{path}.{name}")
        # Its constructor refuses what lacks a field.
        model(**{names[name]: one for name, one in value.items()})


found = yaml.safe_load((pathlib.Path(sys.argv[1]) / "packaging/daemonset.yaml").read_text())
check(found, f"V1{found['kind']}", found["kind"])
# The client does not check what the API server does.
labels, template = found["spec"]["selector"]["matchLabels"], found["spec"]["template"]
assert labels.items() <= template["metadata"]["labels"].items(
), "the selector does not match the template"
volumes = {one["name"] for one in template["spec"]["volumes"]}
mounted = {mount["name"] for one in template["spec"]["containers"] for mount in one["volumeMounts"]}
assert mounted == volumes, f"mounts {mounted}, has {volumes}"
print(f"{found['apiVersion']} {found['kind']}: valid")

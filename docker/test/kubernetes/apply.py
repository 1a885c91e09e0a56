# Applies the objects of YAML files to an API server, as a dry run that refuses unknown fields. Prints a line for each object; fails if one is refused
# or has a warning. Kinds that the server does not know, which are those of the Prometheus operator, are named and left out.
#
#   apply.py URL TOKEN FILE...
import json
import ssl
import sys
import urllib.error
import urllib.request

import yaml

server, token, files = sys.argv[1], sys.argv[2], sys.argv[3:]
context = ssl._create_unverified_context()  # a server of this test, with a certificate of its own
OPTIONS = "?dryRun=All&fieldManager=test&force=true&fieldValidation=Strict"


def call(method, path, body=None, kind="application/json"):
    headers = {"Authorization": "Bearer " + token, "Content-Type": kind}
    request = urllib.request.Request(server + path, method=method, data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, context=context, timeout=30) as answer:
            return answer.status, json.load(answer), answer.headers.get_all("Warning") or []
    except urllib.error.HTTPError as error:
        text = error.read().decode()
        return error.code, json.loads(text) if text.startswith("{") else {"message": text}, []


def path_of(each):
    """Returns the path of an object; None if the server does not know its kind."""
    base = "/api/v1" if each["apiVersion"] == "v1" else "/apis/" + each["apiVersion"]
    _, found, _ = call("GET", base)
    for kind in found.get("resources", []):
        if kind["kind"] == each["kind"] and "/" not in kind["name"]:
            space = each["metadata"].get("namespace")
            return base + (f"/namespaces/{space}" if kind["namespaced"] else "") + f"/{kind['name']}/{each['metadata']['name']}"
    return None


call("POST", "/api/v1/namespaces", b'{"metadata": {"name": "profstore"}}')
failed = False
for file in files:
    with open(file) as text:
        objects = [each for each in yaml.safe_load_all(text) if each]
    for each in objects:
        words = f"{file.rsplit('/', 1)[-1]}: {each['kind']} {each['metadata']['name']}"
        path = path_of(each)
        if path is None:
            print(f"unknown {each['apiVersion']} {words}")
            failed |= each["apiVersion"] != "monitoring.coreos.com/v1"
            continue
        status, answer, warnings = call("PATCH", path + OPTIONS, yaml.safe_dump(each).encode(), "application/apply-patch+yaml")
        good = status in (200, 201) and not warnings
        print("valid" if good else "refused", words, "" if good else f"{status} {answer.get('message')} {warnings}")
        failed |= not good
sys.exit(failed)

"""Parsing, sorting, regular expressions, hashing and exceptions of a Python program."""
import ast
import hashlib
import inspect
import json
import re
import sys
import time

END = time.time() + float(sys.argv[1])
SOURCE = inspect.getsource(json.decoder) + inspect.getsource(ast)


def nested(depth):
    if depth == 0:
        raise ValueError("bottom")
    return nested(depth - 1) + 1


def once():
    tree = ast.parse(SOURCE)
    names = sorted(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    words = re.findall(r"[A-Za-z_]+", SOURCE)
    counts = {word: words.count(word) for word in set(words[:400])}
    try:
        nested(100)
    except ValueError:
        pass
    return hashlib.sha256(json.dumps([names, counts]).encode()).hexdigest()


while time.time() < END:
    once()

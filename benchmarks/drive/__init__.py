"""What is measured, one module an owner; runs in the interpreter that has the owner installed.

Modules here import nothing of the benchmarks but `step` and `machine`, and nothing of a peer at the top.
"""

"""Executes statements in DuckDB, and measures them with the clock of this process.

Reads a request per line, a JSON object, and writes a line with the answer. The statements run by
the C interface, which the extension module of the Python package exports: statements are prepared
once, and rows stay in the column chunks that DuckDB returns. Only comparisons create objects of
Python.
"""

import ctypes
import json
import signal
import sys
import time

import _duckdb

library = ctypes.CDLL(_duckdb.__file__)
Pointer = ctypes.c_void_p
Number = ctypes.c_uint64
SUCCESS = 0
BOOLEAN = 1
INTEGERS = {2, 3, 4, 5, 6, 7, 8, 9, 16, 32}
FLOATS = {10, 11, 19}


class Result(ctypes.Structure):
    """The type `duckdb_result`, whose members are private."""

    _fields_ = [("members", Number * 6)]


def declare(name, result, *arguments):
    """Returns a function of the C interface."""
    function = getattr(library, "duckdb_" + name)
    function.restype, function.argtypes = result, arguments
    return function


Reference = ctypes.POINTER(Pointer)
Rows = ctypes.POINTER(Result)
open_database = declare("open", ctypes.c_int, ctypes.c_char_p, Reference)
connect = declare("connect", ctypes.c_int, Pointer, Reference)
prepare = declare("prepare", ctypes.c_int, Pointer, ctypes.c_char_p, Reference)
prepare_error = declare("prepare_error", ctypes.c_char_p, Pointer)
destroy_prepare = declare("destroy_prepare", None, Reference)
parameter_count = declare("nparams", Number, Pointer)
parameter_name = declare("parameter_name", Pointer, Pointer, Number)
bind_integer = declare("bind_int64", ctypes.c_int, Pointer, Number, ctypes.c_int64)
bind_text = declare(
    "bind_varchar_length", ctypes.c_int, Pointer, Number, ctypes.c_char_p, Number)
bind_float = declare("bind_double", ctypes.c_int, Pointer, Number, ctypes.c_double)
execute = declare("execute_prepared", ctypes.c_int, Pointer, Rows)
result_error = declare("result_error", ctypes.c_char_p, Rows)
fetch_chunk = declare("fetch_chunk", Pointer, Result)
chunk_size = declare("data_chunk_get_size", Number, Pointer)
destroy_chunk = declare("destroy_data_chunk", None, Reference)
destroy_result = declare("destroy_result", None, Rows)
column_count = declare("column_count", Number, Rows)
column_name = declare("column_name", ctypes.c_char_p, Rows, Number)
column_type = declare("column_type", ctypes.c_int, Rows, Number)
row_count = declare("row_count", Number, Rows)
rows_changed = declare("rows_changed", Number, Rows)
is_null = declare("value_is_null", ctypes.c_bool, Rows, Number, Number)
text_value = declare("value_varchar", Pointer, Rows, Number, Number)
free = declare("free", None, Pointer)
version = declare("library_version", ctypes.c_char_p)


def copied_text(pointer):
    """Returns the text at a pointer, which it frees."""
    text = ctypes.string_at(pointer).decode()
    free(pointer)
    return text


class Statement:
    """A prepared statement, and the sets of arguments with which it runs in turn."""

    def __init__(self, connection, sql, sets):
        self.handle = Pointer()
        if prepare(connection, sql.encode(), ctypes.byref(self.handle)) != SUCCESS:
            raise RuntimeError(f"{prepare_error(self.handle).decode()}: {sql}")
        names = [
            copied_text(parameter_name(self.handle, index + 1))
            for index in range(parameter_count(self.handle))
        ]
        self.sets = [[self.binding(index + 1, values[name]) for index, name in enumerate(names)]
                     for values in sets or [{}]]

    @staticmethod
    def binding(index, value):
        """Returns the function that binds a value, and its arguments after the statement."""
        if isinstance(value, str):
            text = value.encode()
            return bind_text, (index, text, len(text))
        return (bind_integer if isinstance(value, int) else bind_float), (index, value)

    def run(self, bindings):
        """Executes the statement; the caller destroys the result."""
        handle = self.handle
        for bind, arguments in bindings:
            bind(handle, *arguments)
        result = Result()
        if execute(handle, ctypes.byref(result)) != SUCCESS:
            raise RuntimeError((result_error(ctypes.byref(result)) or b"failed").decode())
        return result

    def consume(self, bindings):
        """Executes the statement, and fetches each chunk; returns the number of rows."""
        result = self.run(bindings)
        count = 0
        while chunk := fetch_chunk(result):
            count += chunk_size(chunk)
            destroy_chunk(ctypes.byref(Pointer(chunk)))
        destroy_result(ctypes.byref(result))
        return count

    def close(self):
        destroy_prepare(ctypes.byref(self.handle))


def value(result, column, row, kind):
    """Returns a value of a result."""
    if is_null(result, column, row):
        return None
    text = copied_text(text_value(result, column, row))
    if kind in INTEGERS:
        return int(text)
    if kind in FLOATS:
        return float(text)
    return text == "true" if kind == BOOLEAN else text


class Server:
    """A database with a connection, and the statements that were prepared."""

    def __init__(self):
        self.connection = Pointer()
        self.statements = {}

    def open(self, request):
        """Opens a database: a file, or one in memory."""
        database = Pointer()
        path = request["path"].encode() if request.get("path") else None
        if open_database(path, ctypes.byref(database)) != SUCCESS:
            raise RuntimeError("cannot open the database")
        if connect(database, ctypes.byref(self.connection)) != SUCCESS:
            raise RuntimeError("cannot connect")
        self.execute({"sql": [f"SET threads = {request['threads']}"]})
        return {"version": version().decode()}

    def execute(self, request):
        """Executes statements, and ignores their rows."""
        start = time.perf_counter()
        for sql in request["sql"]:
            statement = Statement(self.connection, sql, None)
            statement.consume(statement.sets[0])
            statement.close()
        return {"seconds": time.perf_counter() - start}

    def prepare(self, request):
        """Prepares a statement with its sets of arguments."""
        self.statements[request["id"]] = Statement(
            self.connection, request["sql"], request.get("sets"))
        return {}

    def rows(self, request):
        """Returns the rows of a prepared statement for one set of arguments."""
        statement = self.statements[request["id"]]
        raw = statement.run(statement.sets[request["set"]])
        result = ctypes.byref(raw)
        kinds = [column_type(result, column) for column in range(column_count(result))]
        answer = {
            "columns": [column_name(result, column).decode() for column in range(len(kinds))],
            "rows": [[value(result, column, row, kind) for column, kind in enumerate(kinds)]
                     for row in range(row_count(result))],
            "changed": rows_changed(result),
        }
        destroy_result(result)
        return answer

    def time(self, request):
        """Measures a number of runs, each of which executes the statement with all arguments."""
        statement = self.statements[request["id"]]
        count = 0
        start = time.perf_counter()
        for _ in range(request["runs"]):
            for bindings in statement.sets:
                count += statement.consume(bindings)
        return {"seconds": time.perf_counter() - start, "rows": count}

    def repeat(self, request):
        """Repeats a statement for a time; returns the number of executions."""
        statement = self.statements[request["id"]]
        runs = count = 0
        start = time.perf_counter()
        while time.perf_counter() - start < request["seconds"]:
            count += statement.consume(statement.sets[0])
            runs += 1
        return {"seconds": time.perf_counter() - start, "runs": runs, "rows": count}

    def transactions(self, request):
        """Runs a statement once for each set of arguments, each in a transaction."""
        statement = self.statements[request["id"]]
        start = time.perf_counter()
        for bindings in statement.sets:
            statement.consume(bindings)
        return {"seconds": time.perf_counter() - start}


def main():
    # Ctrl-C ends the benchmark, and so the input of this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server = Server()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(server, request["do"])(request)
        except Exception as error:  # Each fault belongs to the answer; the benchmark reports it.
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


main()

#if PostgreSQL
    import CPQ
    import SheafHubLog

    /// The rows of a statement in binary form, or its error.
    final class PQResult {
        private let pointer: OpaquePointer

        /// Takes ownership of a result of libpq.
        init(_ pointer: OpaquePointer) {
            self.pointer = pointer
        }

        deinit {
            PQclear(pointer)
        }

        var status: ExecStatusType { PQresultStatus(pointer) }

        /// Whether the statement succeeded.
        var isSuccess: Bool { status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK }

        var rowCount: Int { Int(PQntuples(pointer)) }

        /// Number of the rows that the statement inserted, updated or deleted.
        var changedRowCount: Int { Int(String(cString: PQcmdTuples(pointer))) ?? 0 }

        /// Returns a field of the error or notice.
        func field(_ code: Int32) -> String? {
            PQresultErrorField(pointer, code).map { String(cString: $0) }
        }

        /// Returns the bytes of a value; throws if it is NULL or absent.
        func bytes(_ row: Int, _ column: Int) throws(PQFailure) -> [UInt8] {
            guard let bytes = optionalBytes(row, column) else {
                throw PQFailure(.refused, "a row has no value in column \(column + 1)")
            }
            return bytes
        }

        /// Returns the bytes of a value; nil if it is NULL or absent.
        func optionalBytes(_ row: Int, _ column: Int) -> [UInt8]? {
            let (line, place) = (Int32(clamping: row), Int32(clamping: column))
            guard row < rowCount, place < PQnfields(pointer),
                PQgetisnull(pointer, line, place) == 0, PQfformat(pointer, place) == 1,
                let value = PQgetvalue(pointer, line, place)
            else { return nil }
            let length = Int(PQgetlength(pointer, line, place))
            return Array(UnsafeRawBufferPointer(start: value, count: length))
        }

        /// Returns a text; nil if the value is NULL or absent.
        func text(_ row: Int, _ column: Int) -> String? {
            optionalBytes(row, column).map { String(decoding: $0, as: UTF8.self) }
        }

        /// Returns an `int8` that is not negative.
        func number(_ row: Int, _ column: Int) throws(PQFailure) -> UInt64 {
            let bytes = try bytes(row, column)
            let value = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            guard bytes.count == 8, value <= UInt64(Int64.max) else {
                throw PQFailure(
                    .refused,
                    "a number has \(bytes.count) bytes, or is negative; 8 bytes are right")
            }
            return value
        }

        /// Returns an entry of a shard, of which the columns are its number, bytes and time; nil
        /// without its bytes.
        func entry(_ row: Int) throws(PQFailure) -> HubLogEntry? {
            let number = try number(row, 0)
            return optionalBytes(row, 1).map { bytes in
                HubLogEntry(number, bytes, storedAt: try? self.number(row, 2))
            }
        }

        /// Returns a truth value.
        func isTrue(_ row: Int, _ column: Int) throws(PQFailure) -> Bool {
            try bytes(row, column) == [1]
        }
    }

    /// A parameter of a statement, in binary form.
    enum PQParameter {
        case bytes([UInt8])

        static func number(_ value: UInt64) -> PQParameter {
            .bytes(bigEndian(min(value, UInt64(Int64.max))))
        }

        /// An `int8` with these bits, for numbers that are only compared for equality.
        static func bits(_ value: UInt64) -> PQParameter { .bytes(bigEndian(value)) }

        /// An `int4`.
        static func small(_ value: Int) -> PQParameter {
            .bytes(bigEndian(UInt32(clamping: value)))
        }

        static func truth(_ value: Bool) -> PQParameter { .bytes([value ? 1 : 0]) }

        static func text(_ value: String) -> PQParameter { .bytes(Array(value.utf8)) }

        private static func bigEndian<Value: FixedWidthInteger>(_ value: Value) -> [UInt8] {
            withUnsafeBytes(of: value.bigEndian) { Array($0) }
        }

        /// Calls `body` with the addresses and lengths of parameters.
        static func withPointers<Result>(
            of parameters: ArraySlice<PQParameter>, _ pointers: [UnsafePointer<CChar>?] = [],
            _ lengths: [Int32] = [],
            _ body: ([UnsafePointer<CChar>?], [Int32]) -> Result
        ) -> Result {
            guard case .bytes(let bytes) = parameters.first else { return body(pointers, lengths) }
            return bytes.withUnsafeBytes { buffer in
                // The address of an empty array may be nil, which would be NULL.
                let address = buffer.baseAddress ?? UnsafeRawPointer(bitPattern: 1)
                return withPointers(
                    of: parameters.dropFirst(),
                    pointers + [address?.assumingMemoryBound(to: CChar.self)],
                    lengths + [Int32(clamping: bytes.count)], body)
            }
        }
    }
#endif

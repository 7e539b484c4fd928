package import SheafBytes
package import SheafDocument
package import SheafStorage

/// A document as stored in the log: a state and the deltas on top of it.
package struct StoredDocument: Sendable {
    /// The location of the newest state.
    private enum Source {
        case log(LoggedBytes)
        case memory([UInt8])
    }

    /// Bytes of the log, which never change while the snapshot is kept.
    private struct LoggedBytes: Sendable {
        nonisolated(unsafe) let bytes: UnsafeRawBufferPointer
        let snapshot: LogSnapshot
    }

    private let source: Source
    /// Length and number of the deltas after the newest operation with a state.
    let deltaLength: Int
    let deltaCount: Int

    /// Creates a document from a state in memory, without deltas.
    package init(_ state: [UInt8]) {
        self.init(state, deltaLength: 0, deltaCount: 0)
    }

    /// Creates a document from a state in memory, which is in the log as deltas on an older one.
    init(_ state: [UInt8], deltaLength: Int, deltaCount: Int) {
        source = .memory(state)
        self.deltaLength = deltaLength
        self.deltaCount = deltaCount
    }

    /// Creates a document from the state of its only operation.
    init(_ logged: LoggedState, in snapshot: LogSnapshot) {
        source = .log(LoggedBytes(bytes: logged.bytes, snapshot: snapshot))
        (deltaLength, deltaCount) = (0, 0)
    }

    /// Reads a document that consists of a single operation.
    package init(_ put: Operation, in snapshot: LogSnapshot) throws(Malformed) {
        self.init(try LoggedState(put), in: snapshot)
    }

    /// Reads a document from its operations, newest first.
    package init?(
        _ operations: [LoggedOperation], in snapshot: LogSnapshot, _ names: NameTable
    ) throws(Malformed) {
        guard let last = operations.last else { return nil }
        guard let state = try DocumentPayload(last.operation.payload).state else {
            throw .invalid("a delta without a state", at: 0)
        }
        deltaCount = operations.count - 1
        deltaLength = operations.dropLast().reduce(0) { $0 + $1.operation.payload.count }
        guard operations.count > 1 else {
            source = .log(LoggedBytes(bytes: state.bytes, snapshot: snapshot))
            return
        }
        // The deltas are joined first: they are small, and the state is read and written once.
        var joined: [UInt8]?
        for logged in operations.dropLast().reversed() {
            guard let delta = try DocumentPayload(logged.operation.payload).delta else {
                throw .invalid("a delta record without a delta", at: 0)
            }
            joined =
                try joined.map { (joined) throws(Malformed) in
                    try joined.span.withUnsafeBytes { joined throws(Malformed) in
                        try Self.join(try EncodedDocument(joined), delta, names)
                    }
                } ?? Array(delta.bytes)
        }
        let deltas = joined ?? []
        source = .memory(
            try deltas.span.withUnsafeBytes { deltas throws(Malformed) in
                try Self.join(state, try EncodedDocument(deltas), names)
            })
    }

    private static func join(
        _ state: EncodedDocument, _ delta: EncodedDocument, _ names: NameTable
    ) throws(Malformed) -> [UInt8] {
        do throws(DocumentError) {
            return try Join.join(state, delta, names)
        } catch {
            if case .malformed(let reason) = error { throw reason }
            throw .invalid("\(error)", at: 0)
        }
    }

    /// Calls `body` with the state, which is valid only during the call.
    package func read<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        switch source {
        case .log(let logged):
            return try withExtendedLifetime(logged.snapshot) { () throws(Failure) in
                try body(logged.bytes)
            }
        case .memory(let bytes):
            return try bytes.span.withUnsafeBytes(body)
        }
    }

    /// Whether the document is a tombstone.
    package var isTombstone: Bool {
        read { bytes in
            guard let document = try? EncodedDocument(bytes), !document.isRemnant else {
                return false
            }
            return !((try? document.exists()) ?? true)
        }
    }

    /// Whether the document is the remnant of an evicted document.
    package var isRemnant: Bool {
        read { bytes in (try? EncodedDocument(bytes).isRemnant) ?? false }
    }

    /// A copy of the state.
    package var bytes: [UInt8] {
        switch source {
        case .log(let logged): withExtendedLifetime(logged.snapshot) { Array(logged.bytes) }
        case .memory(let bytes): bytes
        }
    }
}

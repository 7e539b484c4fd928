import SheafStorage
import SheafTestSupport

/// The committed store of the vectors.
struct FormatVectorFiles {
    /// The bytes of each file of the store.
    let files: [String: [UInt8]]

    /// Reads `format-spec/vectors/store`.
    init() throws {
        let folder = FormatVectors.directory() + "/store"
        let volume = try PosixVolume(path: folder, creatingDirectory: false)
        var files: [String: [UInt8]] = [:]
        for name in try volume.names() where name.hasSuffix(".txt") {
            let vectors = try FormatVectors("store/\(name)")
            files[String(name.dropLast(4))] = try vectors.bytes("file")
        }
        self.files = files
    }

    /// Opens these files as a store.
    static func open(_ files: [String: [UInt8]]) throws(StorageError) -> StoreEngine {
        var options = LogStoreOptions()
        options.clock = FakeClock().clock
        options.random = { 7 }
        return try StoreEngine(opening: SimulatedVolume(files: files), options: options)
    }

    /// Returns the live keys after a commit, each with its payloads, oldest first.
    ///
    /// They come from `contents.txt`.
    static func expected(
        _ vectors: FormatVectors, after commit: CommitID
    ) throws -> [String: [[UInt8]]] {
        let prefix = "after-\(commit)."
        var expected: [String: [[UInt8]]] = [:]
        for name in vectors.names where name.hasPrefix(prefix) {
            let key = name.dropFirst(prefix.count).prefix { $0 != "+" }
            expected[String(key), default: []].append(try vectors.bytes(name))
        }
        return expected
    }

    /// Returns the live keys of a snapshot, each with its payloads, oldest first.
    static func contents(_ snapshot: LogSnapshot) throws -> [String: [[UInt8]]] {
        var contents: [String: [[UInt8]]] = [:]
        for (key, newest) in pointers(snapshot, removed: false) {
            let operations = try key.withUnsafeBytes { try snapshot.operations(of: $0, at: newest) }
            contents[String(decoding: key, as: UTF8.self)] = operations.reversed().map {
                Array($0.operation.payload)
            }
        }
        return contents
    }

    /// Returns the live or the removed keys of a snapshot, with their record pointers.
    static func pointers(_ snapshot: LogSnapshot, removed: Bool) -> [([UInt8], RecordPointer)] {
        var pointers: [([UInt8], RecordPointer)] = []
        snapshot.tree.forEach { key, value in
            let isRemoved = key.first == 0
            if isRemoved == removed {
                let word = value.bytes
                let position = word[..<8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
                let length = word[8...].reversed().reduce(0) { $0 << 8 | Int($1) }
                pointers.append(
                    (
                        Array(key.dropFirst(isRemoved ? 1 : 0)),
                        RecordPointer(
                            position: LogPosition(rawValue: position), length: length & 0x7FFF_FFFF,
                            isDelta: length >> 31 == 1)
                    ))
            }
            return true
        }
        return pointers
    }

    /// One operation of a chain.
    struct ChainedOperation: Equatable {
        let position: LogPosition
        let commit: CommitID
        let kind: Operation.Kind
        let payload: [UInt8]
    }

    /// Returns the operations of a key, newest first, and the position of the first missing one.
    static func chain(
        _ snapshot: LogSnapshot, from newest: LogPosition
    ) throws -> (entries: [ChainedOperation], gone: LogPosition) {
        var entries: [ChainedOperation] = []
        var next = newest
        while next != .none, let found = try snapshot.segments.loggedOperation(at: next) {
            entries.append(
                ChainedOperation(
                    position: next, commit: found.commit, kind: found.operation.kind,
                    payload: Array(found.operation.payload)))
            next = found.operation.previous
        }
        return (entries, next)
    }

    /// Returns the live keys after an older commit, as defined in `format-spec/log.md`.
    static func contents(
        _ snapshot: LogSnapshot, after commit: CommitID
    ) throws -> [String: [[UInt8]]] {
        var contents: [String: [[UInt8]]] = [:]
        let all = pointers(snapshot, removed: false) + pointers(snapshot, removed: true)
        for (key, pointer) in all {
            let (entries, _) = try chain(snapshot, from: pointer.position)
            let older = entries.drop { $0.commit > commit }
            guard let newest = older.first, newest.kind != .remove else { continue }
            let deltas = older.prefix { $0.kind == .delta }
            let state = deltas + older.dropFirst(deltas.count).prefix(1)
            contents[String(decoding: key, as: UTF8.self)] = state.reversed().map(\.payload)
        }
        return contents
    }
}

extension FormatVectors {
    /// Returns the files with the changes of a case of `damage.txt` applied.
    func changing(_ files: [String: [UInt8]], in name: String) throws -> [String: [UInt8]] {
        var files = files
        var index = 1
        while has("\(name).\(index).file") {
            let change = "\(name).\(index)"
            let file = try text("\(change).file")
            var bytes = files[file] ?? []
            if has("\(change).length") {
                let length = try integer("\(change).length")
                bytes = Array(bytes.prefix(length))
                bytes += [UInt8](repeating: 0, count: length - bytes.count)
            }
            if has("\(change).bytes") {
                let offset = try integer("\(change).offset")
                let new = try self.bytes("\(change).bytes")
                bytes.replaceSubrange(offset..<min(offset + new.count, bytes.count), with: new)
            }
            files[file] = has("\(change).removed") ? nil : bytes
            index += 1
        }
        return files
    }
}

import SheafDocument
import SheafQuery
import SheafStatements
import Synchronization

/// A comparison of successive query results.
///
///     let differ = Differ()
///     for try await result in try store.observe("SELECT * FROM cars ORDER BY year") {
///         let diff = differ.diff(result.items)
///         cars.apply(diff) { car(from: result.items[$0]) }
///     }
///
/// Rows with the same `_id` are the same row, and so are equal rows without one. A row has changed
/// if its value has; a document that is written again with equal values has not. The differ keeps
/// 24 bytes for each row, and neither results nor documents.
public final class Differ: Sendable {
    private let state = Mutex(DiffState())
    /// A secret seed, without which an attacker cannot construct rows that collide.
    private let seed = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))

    /// Creates a differ that has seen no rows.
    public init() {}

    /// Returns the changes since the last call; the first call inserts all rows.
    public func diff(_ items: QueryResult.Items) -> Diff {
        let storage = items.storage
        return diff((0..<storage.count).map { (storage, $0) })
    }

    /// Returns the changes since the last call; the first call inserts all rows.
    public func diff(_ items: some Collection<QueryResultItem>) -> Diff {
        diff(items.map { ($0.storage, $0.index) })
    }

    private func diff(_ rows: [(storage: ResultStorage, index: Int)]) -> Diff {
        state.withLock { state in
            state.diff(versions: rows.map { $0.storage.version(of: $0.index) }) { row in
                let (storage, index) = rows[row]
                return storage.fingerprint(of: index, seed)
            }
        }
    }
}

extension ResultStorage {
    /// Returns a number that identifies the contents of a row; zero if there is none.
    fileprivate func version(of index: Int) -> UInt64 {
        guard case .stored(_, _, let record) = item(index).content, record != 0 else { return 0 }
        return record &+ storeNumber &* 0x9E37_79B9_7F4A_7C15
    }

    /// Returns hashes of the id of a row and of its contents.
    fileprivate func fingerprint(
        of index: Int, _ seed: (UInt64, UInt64)
    ) -> (id: UInt64, content: UInt64) {
        // An unreadable row equals only an unreadable one at the same index; reading it throws.
        guard let object = try? object(index) else { return (UInt64(index), 0) }
        var content = Hasher()
        content.combine(seed.0)
        Value.object(object).hashExactly(into: &content)
        let contentHash = UInt64(bitPattern: Int64(content.finalize()))
        guard let id = object["_id"] else { return (contentHash, contentHash) }
        var hasher = Hasher()
        hasher.combine(seed.1)
        id.hashExactly(into: &hasher)
        return (UInt64(bitPattern: Int64(hasher.finalize())), contentHash)
    }
}

extension Value {
    /// Hashes the exact value: an integer and the equal float differ, unlike with `==`.
    func hashExactly(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0 as UInt8)
        case .bool(let value):
            hasher.combine(1 as UInt8)
            hasher.combine(value)
        case .integer(let value):
            hasher.combine(2 as UInt8)
            hasher.combine(value)
        case .float(let value):
            hasher.combine(3 as UInt8)
            hasher.combine(value.bitPattern)
        case .string(let text):
            hasher.combine(4 as UInt8)
            hasher.combineExactly(text)
        case .bytes(let bytes):
            hasher.combine(5 as UInt8)
            hasher.combine(bytes)
        case .array(let values):
            hasher.combine(6 as UInt8)
            hasher.combine(values.count)
            for value in values { value.hashExactly(into: &hasher) }
        case .object(let object):
            hasher.combine(7 as UInt8)
            hasher.combine(object.count)
            for field in object {
                hasher.combineExactly(field.name)
                field.value.hashExactly(into: &hasher)
            }
        }
    }
}

extension Hasher {
    /// Hashes the bytes of a text: `==` ignores how its characters are composed.
    fileprivate mutating func combineExactly(_ text: String) {
        combine(text.utf8.count)
        var text = text
        text.withUTF8 { combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

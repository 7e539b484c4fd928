import SheafDocument
import SheafQuery
import Synchronization

/// Tells what has changed from one result to the next.
///
///     let differ = Differ()
///     for try await result in try store.observe("SELECT * FROM cars ORDER BY year") {
///         let diff = differ.diff(result.items)
///         cars.apply(diff) { car(from: result.items[$0]) }
///     }
///
/// Rows are the same that have the same `_id`; rows without one are, that say the same. A row has changed
/// when its value has: that a document was written again is no change. The differ keeps 24 bytes of each
/// row, and neither results nor documents.
public final class Differ: Sendable {
    private let state = Mutex(DiffState())
    /// Nobody can make two rows look like one who does not know it.
    private let seed = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))

    /// Makes a differ that has seen no rows.
    public init() {}

    /// What has changed since the rows that were given before; all rows are inserted by the first call.
    public func diff(_ items: QueryResult.Items) -> Diff {
        let storage = items.storage
        return diff((0..<storage.count).map { (storage, $0) })
    }

    /// What has changed since the rows that were given before; all rows are inserted by the first call.
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
    /// What no other row has that says something else; zero where that is not known.
    fileprivate func version(of index: Int) -> UInt64 {
        guard case .stored(_, _, let place) = item(index).content, place != 0 else { return 0 }
        return place &+ storeNumber &* 0x9E37_79B9_7F4A_7C15
    }

    /// What tells a row from others, and what it says.
    fileprivate func fingerprint(
        of index: Int, _ seed: (UInt64, UInt64)
    ) -> (id: UInt64, content: UInt64) {
        // A row that cannot be read says so to those who read it; here it is one of its own.
        guard let object = try? object(index) else { return (UInt64(index), 0) }
        var content = Hasher()
        content.combine(seed.0)
        Value.object(object).hashExactly(into: &content)
        let says = UInt64(bitPattern: Int64(content.finalize()))
        guard let id = object["_id"] else { return (says, says) }
        var hasher = Hasher()
        hasher.combine(seed.1)
        id.hashExactly(into: &hasher)
        return (UInt64(bitPattern: Int64(hasher.finalize())), says)
    }
}

extension Value {
    /// Hashes all of the value; other than for `==`, an integer is not the float of the same number.
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
    /// By its bytes: texts are equal that are spelled differently.
    fileprivate mutating func combineExactly(_ text: String) {
        combine(text.utf8.count)
        var text = text
        text.withUTF8 { combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

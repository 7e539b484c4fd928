import SheafQuery

/// Statements that were parsed, by their texts; those that came longest ago are forgotten first.
struct StatementCache {
    private final class Entry {
        let statement: Statement
        var use: UInt64

        init(_ statement: Statement, use: UInt64) {
            self.statement = statement
            self.use = use
        }
    }

    private var statements: [String: Entry] = [:]
    private var uses: UInt64 = 0

    private static let maximumCount = 512
    /// Longer texts are mostly data that comes once.
    private static let maximumLength = 4_096

    mutating func find(_ text: String) -> Statement? {
        guard let found = statements[text], Self.isSame(found.statement.text, text) else {
            return nil
        }
        uses += 1
        found.use = uses
        return found.statement
    }

    mutating func insert(_ statement: Statement) {
        guard statement.text.utf8.count <= Self.maximumLength else { return }
        if statements.count >= Self.maximumCount {
            // Half at a time, so that not every new statement looks for the oldest one.
            let middle = statements.values.map(\.use).sorted()[Self.maximumCount / 2]
            statements = statements.filter { $0.value.use > middle }
        }
        uses += 1
        statements[statement.text] = Entry(statement, use: uses)
    }

    /// Whether texts are equal byte by byte: others may only look the same.
    private static func isSame(_ left: String, _ right: String) -> Bool {
        let isSame = left.utf8.withContiguousStorageIfAvailable { left -> Bool? in
            right.utf8.withContiguousStorageIfAvailable { right -> Bool in
                UnsafeRawBufferPointer(left).isEqual(to: UnsafeRawBufferPointer(right))
            }
        }
        return (isSame ?? nil) ?? left.utf8.elementsEqual(right.utf8)
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        var index = 0
        while index &+ 8 <= count {
            guard
                loadUnaligned(fromByteOffset: index, as: UInt64.self)
                    == other.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            else { return false }
            index &+= 8
        }
        return self[index...].elementsEqual(other[index...])
    }
}

package import SheafDocument
package import SheafEngine
import SheafSync

/// Documents changed since the last batch sent to a peer with limited rights.
///
/// Each document has one entry in `changed`, regardless of the number of its changes. Former states
/// are kept until the queries are evaluated on them.
package struct LimitedChanges {
    /// A changed document that matches or has matched a query, or that can affect one with LIMIT.
    package struct Change {
        /// Whether the peer may have a former state of the document.
        package var hasMatched = false
        /// Whether all changes to the document came from the peer.
        package var isOnlyFromPeer = true

        package init() {}
    }

    /// A changed readable document on which the queries are not evaluated yet.
    package struct Incoming {
        package let key: [UInt8]
        package let address: DocumentAddress
        /// The former state of the document; nil if the peer may not read it.
        let before: StoredDocument?
        let isFromPeer: Bool
        /// Length of `before` with all names spelled.
        ///
        /// The length with numbered names would depend on documents that the peer may not read.
        let beforeLength: Int

        package init(
            key: [UInt8], address: DocumentAddress, before: StoredDocument?, isFromPeer: Bool,
            beforeLength: Int
        ) {
            (self.key, self.address, self.before) = (key, address, before)
            (self.isFromPeer, self.beforeLength) = (isFromPeer, beforeLength)
        }

        fileprivate var length: Int { LimitedChanges.length(of: key) + beforeLength }
    }

    private var incoming: [Incoming] = []
    /// Number of elements removed from the start of `incoming`.
    private var removedCount = 0
    package private(set) var changed: [[UInt8]: Change] = [:]
    /// Number of bytes counted for all changes.
    package private(set) var length = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }
    package var count: Int { incoming.count - removedCount + changed.count }

    /// The first change on which the queries are not evaluated yet.
    package var first: Incoming? { removedCount < incoming.count ? incoming[removedCount] : nil }

    /// Adds a change, unless the entry of the document already covers it.
    package mutating func add(_ change: Incoming) {
        if changed[change.key]?.hasMatched == true {
            if !change.isFromPeer { changed[change.key]?.isOnlyFromPeer = false }
            return
        }
        incoming.append(change)
        length += change.length
    }

    /// Removes the first change on which the queries are not evaluated yet.
    package mutating func removeFirst() {
        guard let first else { return }
        length -= first.length
        removedCount += 1
        guard removedCount * 2 >= incoming.count else { return }
        incoming.removeFirst(removedCount)
        removedCount = 0
    }

    /// Sets the entry of a document, whose bytes are counted once.
    package mutating func set(_ change: Change, for key: [UInt8]) {
        if changed.updateValue(change, forKey: key) == nil { length += Self.length(of: key) }
    }

    /// Removes all entries of `changed`, and returns the number of bytes counted for them.
    package mutating func drainChanged() -> Int {
        let taken = changed.keys.reduce(0) { $0 + Self.length(of: $1) }
        length -= taken
        changed = [:]
        return taken
    }

    /// Returns the number of bytes counted for a document without its former state.
    private static func length(of key: [UInt8]) -> Int { key.count + 64 }
}

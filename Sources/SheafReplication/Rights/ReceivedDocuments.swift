package import SheafDocument
import SheafSync

/// The last documents received from a peer and written.
///
/// The peer may learn of their deletion. They are kept in memory by the key of the peer, since the
/// site in its hello is not authenticated.
package struct ReceivedDocuments: Sendable {
    /// The number of the last arrival of each document.
    private var arrivals: [DocumentAddress: UInt64] = [:]
    /// All arrivals from index `first` on, oldest first; only the last one of a document counts.
    private var order: [(address: DocumentAddress, arrival: UInt64)] = []
    private var first = 0
    private var arrivalCount: UInt64 = 0
    private var length = 0

    /// Maximum number of documents of one peer, and of bytes of their addresses.
    package static let maximumCount = 4_096
    package static let maximumBytes = 1 << 20

    package init() {}

    package func contains(_ address: DocumentAddress) -> Bool { arrivals[address] != nil }

    /// Adds a document as the newest one, and removes the oldest ones beyond the maximum.
    package mutating func add(_ address: DocumentAddress) {
        arrivalCount += 1
        if arrivals.updateValue(arrivalCount, forKey: address) == nil {
            length += address.memoryLength
        }
        order.append((address, arrivalCount))
        while arrivals.count > Self.maximumCount || length > Self.maximumBytes {
            removeFirst()
        }
        guard order.count > 2 * Self.maximumCount else { return }
        // At least half of the entries are outdated: the documents were received again or removed.
        order = order[first...].filter { arrivals[$0.address] == $0.arrival }
        first = 0
    }

    private mutating func removeFirst() {
        let (address, arrival) = order[first]
        first += 1
        // The document may have been received again since.
        guard arrivals[address] == arrival else { return }
        arrivals[address] = nil
        length -= address.memoryLength
    }
}

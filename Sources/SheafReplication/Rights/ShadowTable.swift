package import SheafDocument
package import SheafStorage

/// States that a peer has sent of documents hidden from it.
///
/// Responses to the peer treat these states as the documents. They are kept in memory only: after a
/// reopening or beyond the maximum, reconciliation shows the peer that its writes were not
/// accepted.
package struct ShadowTable: Sendable {
    package private(set) var documents: [DocumentAddress: [UInt8]] = [:]
    /// Results of the read rule, with the log positions for which they hold.
    private var hidden: [DocumentAddress: (position: LogPosition, isHidden: Bool)] = [:]
    private var order: [DocumentAddress] = []
    private var length = 0

    /// Maximum number of documents of one peer, and of bytes of their states and addresses.
    package static let maximumCount = 256
    package static let maximumBytes = 1 << 20

    package init() {}

    /// Sets or removes the state of a document; removes the oldest states beyond the maximum.
    package mutating func set(_ address: DocumentAddress, _ bytes: [UInt8]?) {
        remove(address)
        // An oversized state would remove all others and then itself.
        guard let bytes, address.memoryLength + bytes.count <= Self.maximumBytes else { return }
        documents[address] = bytes
        order.append(address)
        length += address.memoryLength + bytes.count
        while order.count > Self.maximumCount || length > Self.maximumBytes,
            let oldest = order.first
        {
            remove(oldest)
        }
    }

    /// Whether a document with its newest operation at `position` is hidden; nil if not evaluated.
    package func isHidden(_ address: DocumentAddress, at position: LogPosition) -> Bool? {
        guard let known = hidden[address], known.position == position else { return nil }
        return known.isHidden
    }

    /// Records whether a document with its newest operation at `position` is hidden.
    package mutating func record(
        _ address: DocumentAddress, isHidden: Bool, at position: LogPosition
    ) {
        guard documents[address] != nil else { return }
        hidden[address] = (position, isHidden)
    }

    package mutating func remove(_ address: DocumentAddress) {
        hidden[address] = nil
        guard let bytes = documents.removeValue(forKey: address) else { return }
        length -= address.memoryLength + bytes.count
        order.removeAll { $0 == address }
    }
}

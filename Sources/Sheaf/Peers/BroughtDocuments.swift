import SheafSync

/// The last documents received from a peer and written: the peer may learn of their deletion.
///
/// They are kept in memory, by the key of the peer: the site in its hello proves nothing.
struct BroughtDocuments: Sendable {
    private var addresses: Set<DocumentAddress> = []
    /// The addresses of these documents, oldest first from `first` on.
    private var order: [DocumentAddress] = []
    private var first = 0
    private var length = 0

    /// Maximum number of documents of one peer, and of the bytes of their addresses.
    static let most = 4_096
    static let mostBytes = 1 << 20

    func contains(_ address: DocumentAddress) -> Bool { addresses.contains(address) }

    /// Adds a document, and removes the oldest ones beyond the maximum.
    mutating func add(_ address: DocumentAddress) {
        guard addresses.insert(address).inserted else { return }
        order.append(address)
        length += address.memoryLength
        while addresses.count > Self.most || length > Self.mostBytes {
            addresses.remove(order[first])
            length -= order[first].memoryLength
            first += 1
        }
        guard first > Self.most else { return }
        order.removeFirst(first)
        first = 0
    }
}

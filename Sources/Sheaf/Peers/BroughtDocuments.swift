import SheafSync

/// The last documents that a peer has sent and that were written here: it may know of their deletion.
///
/// They are kept in memory, by the key of the peer: what a peer says of itself is no evidence.
struct BroughtDocuments: Sendable {
    private var addresses: Set<DocumentAddress> = []
    /// The same, oldest first from `first` on.
    private var order: [DocumentAddress] = []
    private var first = 0
    private var length = 0

    /// Maximum number of documents of one peer, and of the bytes of their addresses.
    static let most = 4_096
    static let mostBytes = 1 << 20

    func contains(_ address: DocumentAddress) -> Bool { addresses.contains(address) }

    /// Adds a document; the oldest ones go where there are too many.
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

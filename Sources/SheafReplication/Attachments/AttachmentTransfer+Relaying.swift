import SheafAttachments
import SheafDocument

/// Attachments that are fetched for other peers, some at a time.
///
/// The others wait for room. They take turns by connection, so that a peer that requests many
/// attachments does not delay those of others. An attachment that nothing arrives of makes room.
extension AttachmentTransfer {
    /// The requests of other peers for one attachment: the two with the most hops left.
    struct RelayedRequests {
        private var first: (number: UInt64, hops: Int) = (0, 0)
        private var second = 0

        mutating func add(_ hops: Int, from number: UInt64) {
            if hops > first.hops {
                (first, second) = ((number, hops), first.hops)
            } else {
                second = max(second, hops)
            }
        }

        /// Returns the hops left of the requests of all connections but one.
        func hops(but number: UInt64) -> Int { first.number == number ? second : first.hops }
    }

    func relayedRequests(of id: AttachmentID) -> RelayedRequests {
        var found = RelayedRequests()
        for number in active {
            guard let request = self[number].sought[id], request.mayRead else { continue }
            found.add(request.hops, from: number)
        }
        return found
    }

    /// Whether another peer requests an attachment that it may read.
    func isRelayed(_ id: AttachmentID) -> Bool {
        active.contains { self[$0].canRelay(id) }
    }

    /// Starts or stops fetching an attachment for other peers, according to their requests.
    mutating func review(_ id: AttachmentID) {
        let isRelayed = isRelayed(id)
        switch wanted[id] {
        case nil where isRelayed: requestAttachment(id, for: .others)
        case let file? where !file.isForThisPeer && !isRelayed: removeRequest(id)
        default: sendHopLimit(id)
        }
    }

    /// Stops fetching what no other peer may request any more, after a change of the scopes.
    mutating func reviewAll() {
        for id in order { review(id) }
    }

    // MARK: Room

    /// Records that an attachment waits for room.
    mutating func waitForRoom() {
        if admitAt == nil { admitAt = now + Self.relayNanoseconds }
    }

    /// Fetches attachments that wait for room, if there may be some.
    mutating func admitWaiting() {
        guard let time = admitAt, time <= now else { return }
        admitAt = nil
        removeUnavailable()
        // Each connection takes its turn, until none has an attachment that waits.
        var idleCount = 0
        for _ in 0..<(active.count + 2 * Self.maximumRelayed) {
            guard idleCount < active.count else { return }
            guard relayedCount < Self.maximumRelayed else { break }
            let number = nextActive(after: lastAdmittedConnection) ?? active[0]
            lastAdmittedConnection = number
            guard let id = nextWaiting(of: number) else {
                idleCount += 1
                continue
            }
            idleCount = 0
            self[number].lastAdmitted = id
            review(id)
        }
        waitForRoom()
    }

    /// Returns the next requested attachment of a peer that is not fetched, in cyclic order.
    private func nextWaiting(of number: UInt64) -> AttachmentID? {
        let exchange = self[number]
        let waiting = exchange.sought.keys.filter {
            wanted[$0] == nil && exchange.canRelay($0) && !((try? attachments?.has($0)) ?? false)
        }
        func precedes(_ a: AttachmentID, _ b: AttachmentID) -> Bool {
            a.bytes.lexicographicallyPrecedes(b.bytes)
        }
        let later = waiting.filter { id in
            exchange.lastAdmitted.map { precedes($0, id) } ?? true
        }
        return (later.isEmpty ? waiting : later).min(by: precedes)
    }

    /// Removes attachments that are fetched only for others, and of which nothing arrives.
    private mutating func removeUnavailable() {
        guard relayedCount >= Self.maximumRelayed else { return }
        for id in order {
            guard let file = wanted[id], !file.isForThisPeer,
                file.since + Self.relayNanoseconds <= now
            else { continue }
            let incoming = (try? attachments?.incoming(id)) ?? nil
            let length = incoming?.receivedLength ?? 0
            if length > file.receivedLength {
                wanted[id]?.receivedLength = length
                wanted[id]?.since = now
            } else {
                removeRequest(id)
            }
        }
    }
}

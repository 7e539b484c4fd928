import SheafAttachments
import SheafDocument

/// Attachments that are fetched for other peers, some at a time.
///
/// The others wait for room. They take turns by connection, so that a peer that requests many
/// attachments does not delay those of others. An attachment that nothing arrives of makes room.
extension AttachmentTransfer {
    /// The requests of other peers for one attachment: the two with the most hops left.
    package struct RelayedRequests {
        private var first: (number: UInt64, hops: Int) = (0, 0)
        private var second = 0

        package init() {}

        package mutating func add(_ hops: Int, from number: UInt64) {
            if hops > first.hops {
                (first, second) = ((number, hops), first.hops)
            } else {
                second = max(second, hops)
            }
        }

        /// Returns the hops left of the requests of all connections but one.
        package func hops(but number: UInt64) -> Int {
            first.number == number ? second : first.hops
        }
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

    /// Whether another attachment can be fetched only for others.
    var hasRoom: Bool { relayedCount < Self.maximumRelayed }

    /// Fetches attachments that wait for room, if there may be some.
    mutating func admitWaiting() {
        guard relays.areDue(at: now) else { return }
        removeUnavailable()
        relays.forgetFailures(at: now)
        // Each connection takes its turn, until none has an attachment that waits.
        let split = active.firstIndex { $0 > relays.lastConnection } ?? 0
        var waiting = (active[split...] + active[..<split])
            .map { (number: $0, ids: waitingRequests(of: $0)) }.filter { !$0.ids.isEmpty }
        relays.areRunning = true
        var next = 0
        while !waiting.isEmpty, hasRoom {
            if next >= waiting.count { next = 0 }
            let (number, id) = (waiting[next].number, waiting[next].ids.removeLast())
            (relays.lastConnection, self[number].lastAdmitted) = (number, id)
            review(id)
            if waiting[next].ids.isEmpty { waiting.remove(at: next) } else { next += 1 }
        }
        relays.areRunning = false
        relays.end(at: now, isWaiting: !waiting.isEmpty)
    }

    /// Returns the requested attachments of a peer that are not fetched, the next one last.
    private func waitingRequests(of number: UInt64) -> [AttachmentID] {
        let exchange = self[number]
        let waiting = exchange.sought.keys.filter {
            wanted[$0] == nil && !relays.hasFailed($0) && exchange.canRelay($0)
                && !exchange.granted.contains($0)
        }
        let all = waiting.sorted { Self.precedes($1, $0) }
        guard let last = exchange.lastAdmitted else { return all }
        // In cyclic order.
        return all.filter { !Self.precedes(last, $0) } + all.filter { Self.precedes(last, $0) }
    }

    /// Removes attachments that are fetched only for others, and of which nothing arrives.
    private mutating func removeUnavailable() {
        guard !hasRoom else { return }
        for id in order {
            guard let file = wanted[id], !file.isForThisPeer,
                file.since + RelayTurns.patience <= now
            else { continue }
            guard !((try? attachments?.has(id)) ?? false) else {
                do throws(AttachmentError) { try completeFile(id) } catch { failFile(id, error) }
                continue
            }
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

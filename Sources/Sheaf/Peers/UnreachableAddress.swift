import SheafDocument
import SheafStorage
import Synchronization

/// An address that a transport has tried to reach without success.
public struct UnreachableAddress: Sendable, Hashable {
    public let address: String
    /// Why the last attempt failed.
    public let reason: String
    /// Number of attempts that failed in a row.
    public let attempts: Int
    /// When the last attempt failed, in milliseconds since 1970.
    public let lastAttemptMilliseconds: Int64
    /// When the next attempt begins, in milliseconds since 1970.
    public let nextAttemptMilliseconds: Int64
}

/// The addresses that transports cannot reach, as their events report them.
final class UnreachableAddresses: Sendable {
    private struct Entry: Sendable {
        var shown: UnreachableAddress
        /// The reasons that the log has of this row of attempts.
        var logged: Set<String> = []
    }

    private let entries = Mutex<[String: Entry]>([:])
    private let queries: QueryEngine

    /// Maximum number of addresses, and of different reasons of one that are logged.
    private static let most = 1_024
    private static let mostLogged = 8

    init(_ queries: QueryEngine) {
        self.queries = queries
    }

    /// All of them, in the order of the addresses.
    var all: [UnreachableAddress] {
        entries.withLock { $0.values.map(\.shown) }.sorted { $0.address < $1.address }
    }

    /// Takes in what a transport reports.
    func note(_ event: PeerTransportEvent) {
        switch event {
        case .unreachable(let address, let reason, let milliseconds):
            note(address, reason, nextTryMilliseconds: milliseconds)
        case .attemptsEnded(let address): entries.withLock { $0[address] = nil }
        case .listening, .refused: break
        }
    }

    /// Forgets all addresses: nothing is tried any more.
    func removeAll() {
        entries.withLock { $0 = [:] }
    }

    private func note(_ address: String, _ reason: String, nextTryMilliseconds wait: Int) {
        let now = Int64(clamping: queries.options.clock.wallMilliseconds())
        let attempts: Int? = entries.withLock { entries in
            let old = entries[address]
            guard old != nil || entries.count < Self.most else { return nil }
            let attempts = (old?.shown.attempts ?? 0) + 1
            let shown = UnreachableAddress(
                address: address, reason: reason, attempts: attempts,
                lastAttemptMilliseconds: now,
                nextAttemptMilliseconds: now + Int64(clamping: wait))
            var entry = Entry(shown: shown, logged: old?.logged ?? [])
            let isNew = entry.logged.count < Self.mostLogged && entry.logged.insert(reason).inserted
            entries[address] = entry
            return isNew || attempts & (attempts - 1) == 0 ? attempts : nil
        }
        guard let attempts else { return }
        queries.log?.write(
            .warning, "a peer cannot be reached",
            [
                "address": address, "reason": reason, "attempts": "\(attempts)",
                "next_attempt_ms": "\(wait)",
            ])
    }
}

import SheafBytes
import SheafDocument
import SheafEngine
package import SheafStatements
import SheafStorage
import SheafSystem
package import SheafTransport
import Synchronization

/// An address that a transport has failed to reach.
public struct UnreachableAddress: Sendable, Hashable {
    /// The address as configured.
    public let address: String
    /// The reason of the last failure.
    public let reason: String
    /// Number of consecutive failures.
    public let attempts: Int
    /// Time of the first of these failures, in milliseconds since 1970.
    public let firstAttemptMilliseconds: Int64
    /// Time of the last failure, in milliseconds since 1970.
    public let lastAttemptMilliseconds: Int64
    /// Time of the next attempt, in milliseconds since 1970.
    public let nextAttemptMilliseconds: Int64
}

/// The addresses that transports cannot reach, as their events report them.
package final class UnreachableAddresses: Sendable {
    private struct Entry: Sendable {
        var shown: UnreachableAddress
        /// Reasons already logged since the first failure.
        var logged: Set<String> = []
    }

    /// The refused connections from one host.
    private struct Refusals: Sendable {
        var count = 0
        /// Reasons already logged.
        var logged: Set<String> = []
    }

    private let entries = Mutex<[String: Entry]>([:])
    private let refusals = Mutex<[String: Refusals]>([:])
    private let queries: QueryEngine

    /// Maximum number of addresses, and of distinct reasons logged for each.
    package static let maximumCount = 1_024
    package static let maximumLoggedReasons = 8

    package init(_ queries: QueryEngine) {
        self.queries = queries
    }

    /// All unreachable addresses, in order.
    package var all: [UnreachableAddress] {
        entries.withLock { $0.values.map(\.shown) }.sorted { $0.address < $1.address }
    }

    /// Applies a transport event, and returns whether the list may have changed.
    package func record(_ event: PeerTransportEvent) -> Bool {
        switch event {
        case .unreachable(let address, let reason, let milliseconds):
            record(address, reason, nextTryMilliseconds: milliseconds)
            return true
        case .attemptsEnded(let address):
            return entries.withLock { $0.removeValue(forKey: address) } != nil
        case .refused(let address, let reason):
            logRefusal(of: address, reason)
            return false
        case .listening, .connected, .disconnected, .discoveryFailed: return false
        }
    }

    /// Logs a refused connection if its reason is new or the host's number of refusals has doubled.
    private func logRefusal(of address: String, _ reason: String) {
        // The port is dropped, since each connection has a different one.
        let host = address.lastIndex(of: ":").map { String(address[..<$0]) } ?? address
        let count: Int? = refusals.withLock { hosts in
            if hosts[host] == nil, hosts.count >= Self.maximumCount { hosts = [:] }
            var known = hosts[host] ?? Refusals()
            known.count += 1
            let isNew =
                known.logged.count < Self.maximumLoggedReasons
                && known.logged.insert(reason).inserted
            hosts[host] = known
            return isNew || known.count & (known.count - 1) == 0 ? known.count : nil
        }
        guard let count else { return }
        queries.log?.write(
            .warning, "a connection was refused",
            ["address": address, "reason": reason, "connections": "\(count)"])
    }

    /// Removes all addresses; their next failures are logged again.
    package func removeAll() {
        entries.withLock { $0 = [:] }
    }

    private func record(_ address: String, _ reason: String, nextTryMilliseconds wait: Int) {
        let now = Int64(clamping: queries.options.clock.wallMilliseconds())
        let attempts: Int? = entries.withLock { entries in
            let old = entries[address]
            guard old != nil || entries.count < Self.maximumCount else { return nil }
            let attempts = (old?.shown.attempts ?? 0) + 1
            let shown = UnreachableAddress(
                address: address, reason: reason, attempts: attempts,
                firstAttemptMilliseconds: old?.shown.firstAttemptMilliseconds ?? now,
                lastAttemptMilliseconds: now,
                nextAttemptMilliseconds: now + Int64(clamping: wait))
            var entry = Entry(shown: shown, logged: old?.logged ?? [])
            let isNew =
                entry.logged.count < Self.maximumLoggedReasons
                && entry.logged.insert(reason).inserted
            entries[address] = entry
            return isNew || attempts & (attempts - 1) == 0 ? attempts : nil
        }
        guard let attempts else { return }
        queries.log?.write(
            .warning, "a peer cannot be reached",
            [
                "address": address.shortened(to: ErrorText.limit), "reason": reason,
                "attempts": "\(attempts)",
                "next_attempt_ms": "\(wait)",
            ])
    }
}

package import SheafTransport

/// The peers whose addresses presence has reported, in a random order.
///
/// Reports are not signed, so a peer may name the addresses of any host. Whatever they say, few
/// attempts are made, and few of them to one host.
package struct LearnedPeers {
    /// The limits of what reports can cause.
    package struct Limits: Sendable {
        /// Maximum number of attempts after a long time without any.
        package var attempts: UInt64 = 64
        /// Time after which one more attempt is permitted.
        package var attemptNanoseconds: UInt64 = 2_000_000_000
        /// Time that a new peer waits, so that discovery finds it first where it can.
        package var patienceNanoseconds: UInt64 = 1_000_000_000
        /// Time for which a peer waits that discovery has found, too, or that has ended.
        package var recheckNanoseconds: UInt64 = 10_000_000_000

        package init() {}
    }

    private struct Host {
        var backoff: Backoff
        /// The time until which no further connection to it is attempted.
        var until: UInt64
    }

    private let limits: Limits
    private let network: NetworkLimits
    private var addresses: [PeerKey: [PeerAddress]] = [:]
    private var order: [PeerKey] = []
    /// The times until which peers wait.
    private var waiting: [PeerKey: UInt64] = [:]
    /// The hosts to which a connection was attempted, by their addresses without ports.
    private var hosts: [[UInt8]: Host] = [:]
    /// Number of attempts permitted now, and the time until which they are counted.
    private var permitted: UInt64
    private var counted: UInt64 = 0

    package init(_ network: NetworkLimits = NetworkLimits(), limits: Limits = Limits()) {
        (self.network, self.limits, permitted) = (network, limits, limits.attempts)
    }

    // MARK: Peers

    /// Replaces the peers; new ones wait before they are ready.
    package mutating func replace(
        by new: [PeerKey: [PeerAddress]], at now: UInt64, drawing random: () -> UInt64
    ) {
        order.removeAll { new[$0] == nil }
        waiting = waiting.filter { new[$0.key] != nil }
        let added = new.keys.filter { addresses[$0] == nil }
        for key in added.sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
            order.insert(key, at: Int(random() % UInt64(order.count + 1)))
            waiting[key] = now + limits.patienceNanoseconds
        }
        addresses = new
    }

    /// Returns the addresses of a peer; none if it is unknown.
    package func addresses(of key: PeerKey) -> [PeerAddress] { addresses[key] ?? [] }

    /// Returns the peers that may be tried, in the order in which they are.
    package func ready(at now: UInt64) -> [PeerKey] {
        order.filter { waiting[$0] ?? 0 <= now }
    }

    /// Returns the time at which the next waiting peer is ready; nil if none waits.
    package func nextReady(after now: UInt64) -> UInt64? {
        waiting.values.filter { now < $0 }.min()
    }

    /// Lets a peer wait.
    package mutating func wait(_ key: PeerKey, until time: UInt64) {
        guard addresses[key] != nil else { return }
        waiting[key] = time
    }

    /// Lets a peer wait that need not be tried now; returns the end of the wait.
    package mutating func recheck(_ key: PeerKey, at now: UInt64) -> UInt64 {
        let end = now + limits.recheckNanoseconds
        wait(key, until: end)
        return end
    }

    package mutating func moveToEnd(_ key: PeerKey) {
        guard let index = order.firstIndex(of: key) else { return }
        order.append(order.remove(at: index))
    }

    // MARK: Attempts

    /// Counts an attempt to connect to a host; returns false if it is not permitted now.
    ///
    /// A host waits after each attempt, for longer each time, until a peer is reached there:
    /// otherwise reports of many peers could direct all attempts at one host.
    package mutating func begin(_ host: [UInt8], at now: UInt64, drawing random: UInt64) -> Bool {
        if let known = hosts[host], now < known.until { return false }
        let gained = (max(now, counted) - counted) / limits.attemptNanoseconds
        permitted = min(limits.attempts, permitted + gained)
        counted += gained * limits.attemptNanoseconds
        guard permitted > 0 else { return false }
        permitted -= 1
        prune(at: now)
        var backoff = hosts[host]?.backoff ?? Backoff(network)
        let wait = backoff.milliseconds(drawing: random)
        hosts[host] = Host(backoff: backoff, until: now + UInt64(wait) * 1_000_000)
        return true
    }

    /// Removes the wait of a host where a peer was reached.
    package mutating func reached(_ host: [UInt8]) {
        hosts[host] = nil
    }

    /// Forgets hosts that have waited long ago; attempts are too rare for many others.
    private mutating func prune(at now: UInt64) {
        guard hosts.count > Int(limits.attempts) else { return }
        let longest = UInt64(clamping: network.longestRetryMilliseconds) * 1_000_000
        hosts = hosts.filter { now < $0.value.until + longest }
    }
}

import SheafDocument
package import SheafHubLog

/// The other hubs of a log, as their beats show them.
package struct OtherHubs: Sendable {
    /// The last beat of a hub.
    package struct Known: Sendable {
        let beat: HubBroadcast.Beat
        let receivedAt: UInt64
        /// The clock of the hub minus that of this one.
        let clockDifference: Int64
    }

    /// Time after its last beat until which a hub is live (`format-spec/hub.md`, *Writing*).
    package static let liveNanoseconds: UInt64 = 10_000_000_000
    /// Time after its last beat after which a hub is not listed when another one sends a beat.
    package static let forgetNanoseconds: UInt64 = 3_600_000_000_000

    /// The log whose beats count; nil until the configuration is known.
    package var log: HubLogID?
    private var known: [[UInt8]: Known] = [:]
    /// The authors of the broadcasts of this hub.
    private var ownAuthors: Set<HubAuthor> = []
    /// When a beat of another hub with the key of this one arrived last; nil before.
    package private(set) var sameKeyAt: UInt64?

    package init() {}

    /// Records a broadcast of this hub.
    mutating func send(_ bytes: [UInt8]) {
        if let broadcast = decoded(bytes) { ownAuthors.insert(broadcast.author) }
    }

    /// Records a beat; returns whether it is one of the hub with the key `own`.
    package mutating func receive(
        _ bytes: [UInt8], own: [UInt8], at now: UInt64, _ wallMilliseconds: UInt64
    ) -> Bool {
        guard let broadcast = decoded(bytes), case .beat(let beat) = broadcast.contents
        else { return false }
        guard broadcast.hub != own else {
            let isOwn = ownAuthors.contains(broadcast.author)
            if !isOwn { sameKeyAt = now }
            return isOwn
        }
        known = known.filter { now < $0.value.receivedAt + Self.forgetNanoseconds }
        guard known[broadcast.hub] != nil || known.count < HubLimits.authors else { return false }
        known[broadcast.hub] = Known(
            beat: beat, receivedAt: now,
            clockDifference: Int64(clamping: beat.wallMilliseconds)
                - Int64(clamping: wallMilliseconds))
        return false
    }

    private func decoded(_ bytes: [UInt8]) -> HubBroadcast? {
        guard let log else { return nil }
        return bytes.span.withUnsafeBytes { try? HubBroadcast(decoding: $0, log: log) }
    }

    /// The hubs by their keys, in ascending order.
    package var all: [(key: [UInt8], hub: Known)] {
        known.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { ($0.key, $0.value) }
    }

    /// The hubs that have sent a beat in time.
    package func live(at now: UInt64) -> [(key: [UInt8], hub: Known)] {
        all.filter { now < $0.hub.receivedAt + Self.liveNanoseconds }
    }

    /// The median of the differences of the clocks of live hubs; nil for fewer than two.
    ///
    /// With one other hub, it is unknown which of both clocks is wrong.
    package func clockDifference(at now: UInt64) -> Int64? {
        let differences = live(at: now).map { $0.hub.clockDifference }.sorted()
        return differences.count < 2 ? nil : differences[differences.count / 2]
    }
}

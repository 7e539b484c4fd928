import SheafBytes
import SheafHubLog
import SheafMesh
import SheafReplication

/// Nodes that share a hub log.
extension DocumentScene {
    static let logID = HubLogID(low: 7, high: 8)

    /// Returns hubs from 0 on, and as many clients after them, the first one that of the first hub.
    static func hubs(
        _ log: LogDouble, _ count: Int, _ limits: ReplicatorLimits = ReplicatorLimits(),
        connectsClients: Bool = true, feed: HubFeedLimits = HubFeedLimits()
    ) throws -> DocumentScene {
        let scene = try DocumentScene(2 * count, limits)
        for number in 0..<2 * count { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.share(log, among: Array(0..<count), limits: feed)
        try scene.run()
        if connectsClients { for hub in 0..<count { try scene.connect(hub, count + hub) } }
        // Hubs find each other.
        try scene.run(seconds: 3)
        return scene
    }

    /// Makes some nodes hubs of one log.
    func share(
        _ log: LogDouble, among hubs: [Int], _ map: ShardMap = .single,
        limits: HubFeedLimits = HubFeedLimits()
    ) throws {
        (self.log, self.hubs) = (log, hubs)
        for hub in hubs { try joinLog(hub, map, limits: limits) }
    }

    /// Makes a node a hub, as when it is opened.
    func joinLog(
        _ hub: Int, _ map: ShardMap = .single, limits: HubFeedLimits = HubFeedLimits()
    ) throws {
        var configuration = HubFeedConfiguration(log: Self.logID, map: map)
        configuration.limits = limits
        try nodes[hub].replicator.share(configuration, at: now)
        try perform(hub)
    }

    /// Runs for a time, so that what a fault has lost is repeated.
    func run(seconds: UInt64) throws {
        for _ in 0..<seconds * 4 {
            try advance(milliseconds: 250)
            try run()
        }
    }
}

import SheafBytes
package import SheafHubLog
package import SheafSync

/// The configuration of the hubs of a database, in the object store of the engine.
///
/// Its functions block.
package struct ConfigurationFile: Sendable {
    /// Maximum number of attempts of a change that other hubs contest.
    private static let attempts = 64

    /// The log that the configuration names, and its objects.
    let log: any HubStorage
    private let database: Hello.DatabaseID

    package init(_ log: any HubStorage, of database: Hello.DatabaseID) {
        self.log = log
        self.database = database
    }

    /// Returns the configuration, and its revision; nil if there is none.
    package func load() throws -> (configuration: HubConfiguration, revision: UInt64)? {
        guard let (bytes, revision) = try log.load(HubObjectName.configuration) else { return nil }
        let configuration: HubConfiguration
        do {
            configuration = try bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try HubConfiguration(decoding: bytes)
            }
        } catch {
            throw HubError(
                "the configuration of the hubs is damaged (\(error)); restore the object "
                    + "'\(HubObjectName.configuration)' of the engine from a backup, or remove it "
                    + "and run 'sheaf hub replace --force' on a hub that runs")
        }
        guard configuration.database == database else {
            throw HubError(
                "the log in this engine is that of the database \(configuration.database.text), "
                    + "and this hub is one of \(database.text); name the same database, or "
                    + "another engine")
        }
        return (configuration, revision)
    }

    /// Returns the configuration, and creates it and an empty log if there is none.
    ///
    /// Of hubs that do so concurrently, one succeeds. Throws if the engine has a log with entries,
    /// and has lost its configuration: hubs with another log would not have the documents of this
    /// one.
    package func loadOrCreate(
        shardCount: Int?, format: UInt8, random: () -> UInt64
    ) throws -> HubConfiguration {
        for _ in 0..<Self.attempts {
            if let (found, _) = try load() {
                guard let shardCount, shardCount != found.map.shardCount else { return found }
                throw HubError(
                    "the log has \(found.map.shardCount) shards, not \(shardCount); start the hub "
                        + "without a number of shards, which does not change")
            }
            let logs = try log.logs()
            guard logs.isEmpty else {
                // Another hub may have created both meanwhile, the configuration first.
                if try load() != nil { continue }
                throw HubError(
                    "the engine has a log of this database (\(logs[0].text)), and no configuration "
                        + "of its hubs; restore the object "
                        + "'\(HubObjectName.configuration)' of the engine from a backup, or run "
                        + "'sheaf hub replace --force' on a hub that still runs; if none runs, "
                        + "remove the log, and hubs create a new one from their stores")
            }
            let map: ShardMap
            do { map = try ShardMap(shardCount: shardCount ?? 1) } catch {
                throw HubError(
                    "a log cannot have \(shardCount ?? 1) shards; their number is a power of two "
                        + "from 1 to \(HubLimits.shards)")
            }
            let id = HubLogID(low: random(), high: random())
            let new = HubConfiguration(
                format: format, database: database, log: id, number: 1, map: map,
                snapshots: Array(repeating: HubConfiguration.Snapshots(), count: map.shardCount))
            try log.create(id, shardCount: map.shardCount)
            switch try log.replace(HubObjectName.configuration, with: new.bytes, at: nil) {
            case .replaced: return new
            // Another hub was faster; its log counts.
            case .changed: try log.remove(id)
            // The next attempt finds the configuration that exists.
            case .ambiguous: break
            }
        }
        throw HubError(
            "the configuration of the hubs was not created in \(Self.attempts) attempts; check whether "
                + "another program removes the object '\(HubObjectName.configuration)'")
    }

    /// Changes the configuration by compare-and-swap; returns the new one.
    ///
    /// `change` is called again with the newer configuration if another hub changes it
    /// concurrently, and returns nil to leave it.
    package func change(
        _ change: (HubConfiguration) throws -> HubConfiguration?
    ) throws -> HubConfiguration {
        for _ in 0..<Self.attempts {
            guard let (found, revision) = try load() else {
                throw HubError.lostConfiguration
            }
            guard let new = try change(found) else { return found }
            // After an ambiguous outcome, the next attempt finds the configuration that exists.
            if try log.replace(HubObjectName.configuration, with: new.bytes, at: revision)
                == .replaced
            {
                return new
            }
        }
        throw HubError(
            "the configuration of the hubs was changed \(Self.attempts) times by others meanwhile; "
                + "try again")
    }
}

import Sheaf
import SheafHubLog
import SheafStatements
import SheafSync
import SheafSystem

/// The connected engine of a hub, and the configuration that it has.
package struct OpenedLog: Sendable {
    let relay: HubLogRelay
    let file: ConfigurationFile
    let configuration: HubConfiguration

    /// Connects to the engine and reads the configuration, or creates it with an empty log.
    ///
    /// Without an engine it tries again until the time limit of the options, or until its task is
    /// canceled; `onFailure` gets the reason each time.
    static nonisolated(nonsending) func open(
        _ engine: HubEngine, _ peer: PeerConfiguration, _ options: HubOptions,
        _ onFailure: @escaping @Sendable (String) -> Void
    ) async throws -> OpenedLog {
        let log = peer.store.log
        let isCanceled = Monitor(false)
        return try await withTaskCancellationHandler {
            try await Thread.run(name: "sheaf-hub-open") {
                Result { try connected(engine, peer, options, log, isCanceled, onFailure) }
            }.get()
        } onCancel: {
            isCanceled.withLock { $0 = true }
            isCanceled.broadcast()
        }
    }

    /// Disconnects from the engine.
    nonisolated(nonsending) func close() async {
        let relay = relay
        do { try await Thread.run(name: "sheaf-hub-close") { relay.stop() } } catch { relay.stop() }
    }

    /// Interval between attempts to connect to an engine that does not respond.
    private static let retryNanoseconds: UInt64 = 1_000_000_000

    /// Returns the nanoseconds until the next attempt; nil if the time for attempts has passed.
    package static func pause(at now: UInt64, until end: UInt64) -> UInt64? {
        now < end ? min(end - now, retryNanoseconds) : nil
    }

    private static func connected(
        _ engine: HubEngine, _ peer: PeerConfiguration, _ options: HubOptions, _ log: StoreLog?,
        _ isCanceled: Monitor<Bool>, _ onFailure: (String) -> Void
    ) throws -> OpenedLog {
        let (database, clock) = (peer.databaseID.hash, options.clock)
        let end = clock.monotonicNanoseconds() + HubOptions.nanoseconds(options.startSeconds)
        while true {
            let engineLog = engine.log(of: database) { log?.write(.warning, $0) }
            let relay = HubLogRelay(engineLog, key: peer.key.bytes, options.clock)
            do {
                return try opened(relay, database, options)
            } catch let error as HubLogError where error.isTemporary {
                relay.stop()
                guard let wait = pause(at: clock.monotonicNanoseconds(), until: end) else {
                    throw HubError(
                        "\(error); the engine has not responded for \(options.startSeconds) s")
                }
                let reason = "the hub log cannot be opened yet: \(error)"
                log?.write(.warning, reason)
                onFailure(reason)
                let next = Clock.system.monotonicNanoseconds() + wait
                guard !isCanceled.wait(until: next, while: { !$0 }) else {
                    throw HubError("the hub was stopped before the engine responded (\(error))")
                }
            } catch {
                relay.stop()
                if let error = error as? HubLogError { throw HubError("\(error)") }
                throw error
            }
        }
    }

    private static func opened(
        _ relay: HubLogRelay, _ database: Hello.DatabaseID, _ options: HubOptions
    ) throws -> OpenedLog {
        try relay.connect()
        let file = ConfigurationFile(relay, of: database)
        let configuration = try file.loadOrCreate(
            shardCount: options.shardCount, format: options.formats.lowerBound,
            random: { OperatingSystem.randomInteger() })
        guard configuration.format <= options.formats.upperBound else {
            throw HubError(
                "the hubs write messages of version \(configuration.format), and this program "
                    + "those up to \(options.formats.upperBound); install a newer one")
        }
        relay.read(beatsOf: configuration.log)
        return OpenedLog(
            relay: relay, file: file, configuration: configuration)
    }
}

extension HubLogError {
    /// Whether another attempt may succeed without a change of the configuration.
    fileprivate var isTemporary: Bool {
        switch self {
        case .disconnected, .timeout, .full: true
        case .unsupported, .missing, .damaged, .refused: false
        }
    }
}

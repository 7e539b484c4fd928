import SheafBytes
import SheafHub
import SheafHubLog
import SheafHubNATS
import SheafHubPostgreSQL
import SheafNetwork

/// The configuration of a hub from the command line.
struct HubSetup: Sendable {
    /// Maximum number of connections without `--max-connections`.
    private static let connections: UInt64 = 10_000
    private static let maximumConnections: UInt64 = 1_000_000

    let peer: PeerSetup
    let engine: HubEngine
    let options: HubOptions

    init(_ arguments: Arguments) throws(ToolError) {
        engine = try Self.engine(arguments)
        var peer = try PeerSetup(arguments, listens: true)
        let connections = try arguments.number("max-connections") ?? Self.connections
        guard 1...Self.maximumConnections ~= connections else {
            throw .usage("--max-connections must be from 1 to \(Self.maximumConnections)")
        }
        peer.network.limits.connections = Int(connections)
        // After a restart of another hub, all of its clients connect at once.
        let unknown = max(peer.network.limits.unknownConnections, Int(connections) / 16)
        peer.network.limits.unknownConnections = unknown
        peer.network.limits.unknownConnectionsPerNetwork = unknown / 2
        self.peer = peer
        var options = HubOptions()
        if let http = arguments.value("http") {
            let (address, port) = try Arguments.address(http, of: "--http")
            (options.healthAddress, options.healthPort) = (address, port)
        }
        if let shards = try arguments.number("shards") {
            guard 1...UInt64(HubLimits.shards) ~= shards, shards & (shards - 1) == 0 else {
                throw .usage(
                    "--shards must be a power of two from 1 to \(HubLimits.shards), not \(shards)")
            }
            options.shardCount = Int(shards)
        }
        if let seconds = try arguments.number("drain") {
            guard seconds <= ControlLimits.maximumSeconds else {
                throw .usage("--drain must be at most \(ControlLimits.maximumSeconds) seconds")
            }
            options.drainSeconds = Int(seconds)
        }
        self.options = options
    }

    private static func engine(_ arguments: Arguments) throws(ToolError) -> HubEngine {
        let urls = arguments.allValues("log").flatMap { $0.split(separator: ",").map(String.init) }
        guard let first = arguments.value("log"), let url = urls.first else {
            throw .usage(
                "missing --log URL, such as nats://127.0.0.1:4222 or postgresql://hub@db/hubs")
        }
        if first.hasPrefix("postgresql://") || first.hasPrefix("postgres://") {
            return try postgreSQL(arguments, first)
        }
        guard let scheme = ["nats://", "tls://"].first(where: { url.hasPrefix($0) }) else {
            throw .usage(
                "--log must begin with nats://, tls:// or postgresql://, not "
                    + "'\(EngineURL.withoutSecrets(first).shortened)'")
        }
        if let other = urls.first(where: { $0.contains("://") && !$0.hasPrefix(scheme) }) {
            throw .usage(
                "all brokers of --log must have the scheme \(scheme), and not that of "
                    + "'\(EngineURL.withoutSecrets(other).shortened)'")
        }
        let replicas = try arguments.number("replicas") ?? 3
        guard [1, 3, 5].contains(replicas) else {
            throw .usage("--replicas must be 1, 3 or 5, not \(replicas)")
        }
        guard (arguments.value("log-certificate") == nil) == (arguments.value("log-key") == nil)
        else { throw .usage("--log-certificate and --log-key require each other") }
        return .nats(
            urls.map { $0.contains("://") ? $0 : scheme + $0 },
            credentialsFile: arguments.value("log-credentials"),
            authorityFile: arguments.value("log-ca"),
            certificateFile: arguments.value("log-certificate"),
            keyFile: arguments.value("log-key"), replicas: Int(replicas))
    }

    private static func postgreSQL(
        _ arguments: Arguments, _ url: String
    ) throws(ToolError) -> HubEngine {
        guard arguments.allValues("log").count == 1 else {
            throw .usage(
                "--log is given once for PostgreSQL; it has all servers, such as "
                    + "postgresql://hub@db-1,db-2/hubs")
        }
        let nats = ["log-credentials", "log-ca", "log-certificate", "log-key", "replicas"]
        if let option = nats.first(where: { arguments.value($0) != nil }) {
            throw .usage(
                "--\(option) is an option of NATS; the URL of PostgreSQL has its own, such as "
                    + "?sslmode=verify-full")
        }
        return .postgreSQL(url)
    }
}

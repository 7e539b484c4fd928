import SheafBytes
import SheafHubLog
import SheafHubNATS
import SheafSystem
import SheafTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Brokers of NATS on this machine, with a temporary directory each.
final class NATSCluster: Sendable {
    /// The program that `SHEAF_NATS_SERVER` names; nil if there is none, or no trait NATS.
    static let program: String? = {
        #if NATS
            guard let path = getenv("SHEAF_NATS_SERVER") else { return nil }
            return String(cString: path)
        #else
            return nil
        #endif
    }()

    private struct Ports {
        let client: UInt16
        let cluster: UInt16
        let monitor: UInt16
    }

    private let directory = TemporaryDirectory()
    private let ports: [Ports]
    private let security: String
    private let setAccess: @Sendable (inout NATSConfiguration) -> Void
    private let brokers: Monitor<[ChildProcess?]>

    /// Starts the brokers, and waits until they store entries.
    ///
    /// - Parameters:
    ///   - security: Lines of the configuration of the brokers.
    ///   - setAccess: Sets what these lines require.
    init(
        count: Int = 3, security: String = "", timeoutSeconds: UInt64 = 60,
        _ setAccess: @escaping @Sendable (inout NATSConfiguration) -> Void = { _ in }
    ) throws {
        let free = Loopback.freePorts(3 * count)
        ports = (0..<count).map { number in
            Ports(
                client: free[3 * number], cluster: free[3 * number + 1],
                monitor: free[3 * number + 2])
        }
        (self.security, self.setAccess) = (security, setAccess)
        brokers = Monitor(Array(repeating: nil, count: count))
        for number in 0..<count { try start(number) }
        let deadline = Clock.system.monotonicNanoseconds() + timeoutSeconds * 1_000_000_000
        while true {
            do {
                let member = try engine(database: 1).startWithLog().0
                member.stop()
                return
            } catch  where Clock.system.monotonicNanoseconds() < deadline {
                brokers.wait(
                    until: Clock.system.monotonicNanoseconds() + 100_000_000, while: { _ in true })
            }
        }
    }

    deinit {
        for number in ports.indices { kill(number) }
    }

    /// Returns the configuration of a database on the brokers.
    func configuration(database: UInt64) -> NATSConfiguration {
        var configuration = NATSConfiguration(
            servers: ports.map { "nats://127.0.0.1:\($0.client)" },
            database: XXH3.Hash128(low: database, high: 0), replicas: ports.count)
        setAccess(&configuration)
        return configuration
    }

    func engine(database: UInt64) -> TestedEngine {
        let configuration = configuration(database: database)
        return TestedEngine { unreadLength in
            var configuration = configuration
            configuration.unreadLength = unreadLength
            return NATSHubLog(configuration)
        }
    }

    /// Sends a request to the first broker, and returns its response.
    func request(_ subject: String, _ text: String) throws -> String {
        let connection = try LoopbackConnection(port: ports[0].client)
        let lines =
            "CONNECT {\"verbose\":false}\r\nSUB answer 1\r\n"
            + "PUB \(subject) answer \(text.utf8.count)\r\n\(text)\r\n"
        guard connection.send(Array(lines.utf8)) else { return "" }
        var response = ""
        while !(response.contains("MSG answer 1 ") && response.hasSuffix("}\r\n")) {
            let part = try connection.receive()
            guard !part.isEmpty else { break }
            response += String(decoding: part, as: UTF8.self)
        }
        return response
    }

    /// Starts a broker on the files that it has, with other lines if there are any.
    func start(_ number: Int, security: String? = nil) throws {
        guard let program = Self.program else { return }
        let own = ports[number]
        let routes = ports.map { "nats://127.0.0.1:\($0.cluster)" }.joined(separator: ", ")
        let cluster =
            ports.count > 1
            ? "cluster { name: sheaf, listen: 127.0.0.1:\(own.cluster), routes: [ \(routes) ] }"
            : ""
        let data = directory.path("n\(number)")
        let file = directory.path("n\(number).conf")
        let text = """
            server_name: n\(number)
            listen: 127.0.0.1:\(own.client)
            http: 127.0.0.1:\(own.monitor)
            log_file: "\(directory.path("n\(number).log"))"
            jetstream { store_dir: "\(data)", sync_interval: always }
            \(security ?? self.security)
            \(cluster)

            """
        Self.write(text, to: file)
        let broker = try ChildProcess(program, ["-c", file])
        brokers.withLock { $0[number] = broker }
    }

    /// Writes a new file that only its owner can read.
    static func write(_ text: String, to file: String) {
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        #if canImport(Glibc)
            _ = Glibc.write(descriptor, text, text.utf8.count)
        #elseif canImport(Musl)
            _ = Musl.write(descriptor, text, text.utf8.count)
        #else
            _ = Darwin.write(descriptor, text, text.utf8.count)
        #endif
        close(descriptor)
    }

    /// Kills a broker with `SIGKILL`.
    func kill(_ number: Int) {
        let broker = brokers.withLock { brokers in
            defer { brokers[number] = nil }
            return brokers[number]
        }
        broker?.kill()
        _ = broker?.wait()
    }

    /// The streams of a database that a test can wait for, by the beginnings of their names.
    enum StreamKind: String {
        /// The stream of the only shard.
        case shard = "SHEAF-"
        /// The stream of the replaceable objects.
        case bucket = "KV_SHEAF-"
    }

    /// Returns the broker that leads a stream of a database; nil if none leads it.
    func leader(database: UInt64, _ stream: StreamKind = .shard) throws -> Int? {
        for number in ports.indices {
            guard let state = try state(of: stream, database, at: number),
                let leader = state.firstRange(of: "\"leader\":\"n")
            else { continue }
            return state[leader.upperBound...].first?.wholeNumberValue
        }
        return nil
    }

    /// Waits until all brokers have the entries of a stream of a database; returns whether
    /// they do.
    ///
    /// Without that, a second broker that is killed can leave none that may lead the stream.
    func waitsUntilCurrent(database: UInt64, _ stream: StreamKind = .shard) throws -> Bool {
        let deadline = Clock.testDeadline()
        while Clock.system.monotonicNanoseconds() < deadline {
            if let leader = try leader(database: database, stream),
                let state = try state(of: stream, database, at: leader),
                let start = state.firstRange(of: "\"replicas\":["),
                let end = state[start.upperBound...].firstIndex(of: "]")
            {
                let replicas = state[start.upperBound..<end]
                let current = replicas.ranges(of: "\"current\":true").count
                if current == ports.count - 1, !replicas.contains("\"lag\":") { return true }
            }
            brokers.wait(
                until: Clock.system.monotonicNanoseconds() + 100_000_000, while: { _ in true })
        }
        return false
    }

    /// Returns the state of a stream as a broker reports it; nil if it reports none.
    private func state(
        of stream: StreamKind, _ database: UInt64, at number: Int
    ) throws -> Substring? {
        guard let connection = try? LoopbackConnection(port: ports[number].monitor) else {
            return nil
        }
        let request = "GET /jsz?streams=1&accounts=1 HTTP/1.0\r\n\r\n"
        guard connection.send(Array(request.utf8)) else { return nil }
        var bytes: [UInt8] = []
        while case let part = try connection.receive(), !part.isEmpty { bytes += part }
        let text = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
        let digits = String(database, radix: 16)
        let name =
            stream.rawValue + String(repeating: "0", count: 32 - digits.count) + digits
            + (stream == .shard ? "-0" : "")
        return text.firstRange(of: "\"name\":\"\(name)").map { text[$0.upperBound...] }
    }
}

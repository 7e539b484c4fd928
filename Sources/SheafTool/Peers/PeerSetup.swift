import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafNetwork

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension Option {
    /// The options of all peers, whether they listen or not.
    static let peer: [Option] = [
        .database,
        Option(name: "key", value: "FILE", summary: "the key of this peer, from 'sheaf keygen'"),
        Option(
            name: "connect", value: "ADDRESS", isRepeatable: true,
            summary: "connect to a peer, such as example.org:4120, and reconnect"),
        Option(
            name: "subscribe", value: "QUERY", isRepeatable: true,
            summary: "receive the result of a SELECT * FROM, optionally with ORDER BY and LIMIT"),
        Option(
            name: "subscribe-all",
            summary: "receive all documents of all collections, also of later ones"),
        Option(
            name: "shared-key", value: "FILE",
            summary: "accept peers with the same 16 to 1024 random bytes"),
        Option(
            name: "authority", value: "KEY",
            summary: "accept peers with a grant of this public key (pk:...)"),
        Option(name: "grant", value: "FILE", summary: "the grant of the authority for this peer"),
        Option(name: "name", value: "NAME", summary: "the device name shown to other peers"),
        Option(name: "server", summary: "announce this peer as a server"),
    ]
    static let database = Option(
        name: "database", value: "ID", summary: "the database id, the same for all peers")
    static let noDiscovery = Option(
        name: "no-discovery",
        summary: "do not look for peers on the local network, nor announce this one")
    static let listen = Option(
        name: "listen", value: "ADDRESS", isRepeatable: true,
        summary: "listen on a numeric address, such as 127.0.0.1:4120; port 0 is any free port")
}

/// The configuration of a peer from the command line.
struct PeerSetup: Sendable {
    let path: String
    let subscriptions: [String]
    let subscribesToAll: Bool
    var network: NetworkConfiguration
    let deviceName: String
    let isServer: Bool
    let discovery: PeerDiscovery

    init(_ arguments: Arguments, listens: Bool) throws(ToolError) {
        path = arguments.operands[0]
        let database = try arguments.required("database", "ID")
        let keyFile = try arguments.required("key", "FILE")
        subscriptions = arguments.allValues("subscribe")
        subscribesToAll = arguments.has("subscribe-all")
        deviceName = arguments.value("name") ?? ""
        isServer = arguments.has("server")
        let identity = try Self.identity(arguments)
        let keyPair = try asTool { try PeerKeyPair.load(from: keyFile) }
        var network = NetworkConfiguration(
            databaseID: DatabaseID(database), keyPair: keyPair, identity: identity)
        network.listening = listens ? arguments.allValues("listen") : []
        network.peers = arguments.allValues("connect")
        if listens, network.listening.isEmpty {
            throw .usage("missing --listen; --listen 127.0.0.1:0 selects a free port")
        }
        if !listens, network.peers.isEmpty {
            throw .usage("missing --connect ADDRESS")
        }
        self.network = network
        // A peer that only this machine reaches connects to no others by itself.
        let isReachable = network.listening.contains {
            !$0.hasPrefix("127.") && !$0.hasPrefix("[::1]")
        }
        discovery = isReachable && !arguments.has("no-discovery") ? .localNetwork : .off
    }

    private static func identity(_ arguments: Arguments) throws(ToolError) -> NetworkIdentity {
        let grant = arguments.value("grant")
        switch (arguments.value("shared-key"), arguments.value("authority")) {
        case (nil, nil):
            guard grant == nil else {
                throw .usage("--grant requires --authority KEY")
            }
            return .development()
        case (let file?, nil):
            guard grant == nil else {
                throw .usage("--grant requires --authority and excludes --shared-key")
            }
            let bytes = try KeyFile.bytes(of: file, upTo: SharedKey.maximumLength, isSecret: true)
            return .sharedKey(try asTool { try SharedKey(bytes) })
        case (nil, let text?):
            guard let key = PeerKey(text) else { throw KeyFile.noKey(text, of: "--authority") }
            guard let grant else {
                throw .usage("--authority requires --grant FILE, from 'sheaf grant'")
            }
            return .authority(publicKey: key, grant: try KeyFile.grant(in: grant))
        case (_?, _?):
            throw .usage(
                "--shared-key and --authority are mutually exclusive; use one of them")
        }
    }

    /// Returns the configuration; warnings of the store go to standard error.
    func configuration(_ transport: TCPTransport) -> PeerConfiguration {
        PeerConfiguration(
            databaseID: network.databaseID, key: network.keyPair.publicKey,
            deviceName: deviceName, isServer: isServer, transports: [transport],
            store: StoreOptions(log: .standardError(from: .warning)))
    }
}

extension Arguments {
    /// Returns the value of a required option.
    func required(_ option: String, _ placeholder: String) throws(ToolError) -> String {
        guard let value = value(option), !value.isEmpty else {
            throw .usage("missing --\(option) \(placeholder)")
        }
        return value
    }
}

/// Readers of key files and grant files.
enum KeyFile {
    static func noKey(_ text: String, of name: String) -> ToolError {
        .usage("\(name) must be a public key (pk: and 64 hex digits), not '\(text.shortened)'")
    }

    /// Returns the contents of a file; a secret file must not be accessible to other users.
    static func bytes(
        of path: String, upTo limit: Int, isSecret: Bool
    ) throws(ToolError) -> [UInt8] {
        let file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else {
            throw .failed(
                "cannot open \(path.shortened(to: ErrorText.limit)): \(systemText())")
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw .failed("\(path.shortened(to: ErrorText.limit)) is not a regular file")
        }
        guard !isSecret || status.st_mode & 0o077 == 0 else {
            throw .failed(
                "other users can access \(path.shortened); run 'chmod 600 \(path.shortened)'"
            )
        }
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        var length = 0
        while length < bytes.count {
            let count = bytes.withUnsafeMutableBytes {
                read(file, $0.baseAddress.map { $0 + length }, $0.count - length)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw .failed(
                    "cannot read \(path.shortened(to: ErrorText.limit)): \(systemText())")
            }
            guard count > 0 else { break }
            length += count
        }
        guard length <= limit else {
            throw .failed(
                "\(path.shortened(to: ErrorText.limit)) is too long; the limit is \(limit) bytes"
            )
        }
        return Array(bytes.prefix(length))
    }

    /// Reads a grant printed by `sheaf grant`.
    static func grant(in path: String) throws(ToolError) -> PeerGrant {
        let limit = 2 * PeerGrant.maximumLength + 16
        let text = try bytes(of: path, upTo: limit, isSecret: false)
        let line = text.last == 0x0A ? text.dropLast() : text[...]
        do { return try PeerGrant(String(decoding: line, as: UTF8.self)) } catch {
            throw .failed(
                "\(path.shortened(to: ErrorText.limit)): \(ToolError(error).message)")
        }
    }
}

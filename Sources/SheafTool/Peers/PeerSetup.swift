import Sheaf
import SheafBytes
import SheafDocument
import SheafNetwork

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension Option {
    /// What a peer has to know, whether it listens or not.
    static let peer: [Option] = [
        .database,
        Option(name: "key", value: "FILE", summary: "the key of this peer, of 'sheaf keygen'"),
        Option(
            name: "connect", value: "ADDRESS", isRepeatable: true,
            summary: "connect to a peer, such as example.org:4120, again and again"),
        Option(
            name: "subscribe", value: "QUERY", isRepeatable: true,
            summary: "want what a SELECT * FROM a collection gives, also with ORDER BY and LIMIT"),
        Option(
            name: "shared-key", value: "FILE",
            summary: "talk to who has the same 16 to 1024 random bytes"),
        Option(
            name: "authority", value: "KEY",
            summary: "talk to who has a grant of this public key (pk:...)"),
        Option(name: "grant", value: "FILE", summary: "what the authority has granted this peer"),
        Option(name: "name", value: "NAME", summary: "what others see this peer called"),
        Option(name: "server", summary: "be a server in the eyes of others"),
    ]
    static let database = Option(
        name: "database", value: "ID", summary: "the name that all peers of the database have")
    static let listen = Option(
        name: "listen", value: "ADDRESS", isRepeatable: true,
        summary: "listen at a number with a port, such as 127.0.0.1:4120; port 0 is any")
}

/// A peer as the command line describes it.
struct PeerSetup: Sendable {
    let path: String
    let subscriptions: [String]
    let network: NetworkConfiguration
    let databaseID: String
    let deviceName: String
    let isServer: Bool

    init(_ arguments: Arguments, listens: Bool) throws(ToolError) {
        path = arguments.operands[0]
        databaseID = try arguments.required("database", "ID")
        let keyFile = try arguments.required("key", "FILE")
        subscriptions = arguments.allValues("subscribe")
        deviceName = arguments.value("name") ?? ""
        isServer = arguments.has("server")
        let identity = try Self.identity(arguments)
        let keyPair = try asTool { try PeerKeyPair.load(from: keyFile) }
        var network = NetworkConfiguration(
            databaseID: PeerConfiguration.databaseBytes(of: databaseID), keyPair: keyPair,
            identity: identity)
        network.listening = listens ? arguments.allValues("listen") : []
        network.peers = arguments.allValues("connect")
        if listens, network.listening.isEmpty {
            throw .usage("--listen is missing: --listen 127.0.0.1:0 takes any port")
        }
        if !listens, network.peers.isEmpty {
            throw .usage("--connect is missing: --connect ADDRESS says whom to talk to")
        }
        self.network = network
    }

    private static func identity(_ arguments: Arguments) throws(ToolError) -> NetworkIdentity {
        let grant = arguments.value("grant")
        switch (arguments.value("shared-key"), arguments.value("authority")) {
        case (nil, nil):
            guard grant == nil else {
                throw .usage("--grant needs --authority KEY, whose grant it is")
            }
            return .development()
        case (let file?, nil):
            guard grant == nil else {
                throw .usage("--grant goes with --authority, and not with --shared-key")
            }
            let bytes = try KeyFile.bytes(of: file, upTo: SharedKey.maximumLength, isSecret: true)
            return .sharedKey(try asTool { try SharedKey(bytes) })
        case (nil, let text?):
            guard let key = PeerKey(text) else { throw KeyFile.noKey(text, of: "--authority") }
            guard let grant else {
                throw .usage("--authority needs --grant FILE, which 'sheaf grant' prints")
            }
            return .authority(publicKey: key.bytes, grant: try KeyFile.grant(in: grant))
        case (_?, _?):
            throw .usage(
                "--shared-key and --authority are two ways to know peers: give one of them")
        }
    }

    /// How the peer is opened; warnings of its store go to standard error.
    func configuration(_ transport: TCPTransport) throws(ToolError) -> PeerConfiguration {
        guard let key = PeerKey(network.keyPair.publicKey) else {
            throw .failed("the key has no \(PeerKey.length) bytes")
        }
        return PeerConfiguration(
            databaseID: databaseID, key: key, deviceName: deviceName, isServer: isServer,
            transports: [transport],
            store: StoreOptions(log: .standardError(from: .warning)))
    }
}

extension Arguments {
    /// The value of an option that has to be given.
    func required(_ option: String, _ placeholder: String) throws(ToolError) -> String {
        guard let value = value(option), !value.isEmpty else {
            throw .usage("--\(option) is missing: --\(option) \(placeholder)")
        }
        return value
    }
}

/// Files with keys and grants.
enum KeyFile {
    static func noKey(_ text: String, of name: String) -> ToolError {
        .usage("\(name) is a public key, pk: and 64 hexadecimal digits, not '\(text.shortened)'")
    }

    /// What a file has; a secret has to be its owner's alone.
    static func bytes(
        of path: String, upTo limit: Int, isSecret: Bool
    ) throws(ToolError) -> [UInt8] {
        let file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else {
            throw .failed(
                "\(path.shortened(to: ErrorText.limit)) cannot be opened: \(systemText())")
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw .failed("\(path.shortened(to: ErrorText.limit)) is not a regular file")
        }
        guard !isSecret || status.st_mode & 0o077 == 0 else {
            throw .failed(
                "others can read \(path.shortened); 'chmod 600 \(path.shortened)' keeps it to its owner"
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
                    "\(path.shortened(to: ErrorText.limit)) cannot be read: \(systemText())")
            }
            guard count > 0 else { break }
            length += count
        }
        guard length <= limit else {
            throw .failed(
                "\(path.shortened(to: ErrorText.limit)) has more than \(limit) bytes, so it is something else"
            )
        }
        return Array(bytes.prefix(length))
    }

    private static let grantPrefix = "grant:"

    /// A grant as one line.
    static func text(of grant: PeerGrant) -> String {
        grantPrefix + ReadableBytes.hexadecimal(grant.bytes)
    }

    /// Reads the line that 'sheaf grant' prints.
    static func grant(in path: String) throws(ToolError) -> PeerGrant {
        let limit = 2 * PeerGrant.maximumLength + 16
        let text = try bytes(of: path, upTo: limit, isSecret: false)
        let line = text.last == 0x0A ? text.dropLast() : text[...]
        let prefix = Array(grantPrefix.utf8)
        let digits = line.dropFirst(prefix.count)
        guard line.starts(with: prefix), digits.count % 2 == 0, !digits.isEmpty,
            digits.allSatisfy(ReadableBytes.isHexadecimal)
        else {
            throw .failed(
                "\(path.shortened(to: ErrorText.limit)) is no grant; it has to be what 'sheaf grant' prints"
            )
        }
        let text16 = Array(String(decoding: digits, as: UTF8.self))
        let bytes = stride(from: 0, to: text16.count, by: 2).compactMap {
            UInt8(String(text16[$0...$0 + 1]), radix: 16)
        }
        do { return try PeerGrant(bytes) } catch {
            throw .failed(
                "\(path.shortened(to: ErrorText.limit)) is no grant: \(ToolError(error).message)")
        }
    }
}

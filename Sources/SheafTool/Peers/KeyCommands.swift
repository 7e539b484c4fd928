import Sheaf
import SheafBytes
import SheafNetwork
import SheafStatements
import SheafStorage
import SheafSystem

extension Command {
    /// The command `sheaf keygen`.
    static let keygen = Command(
        name: "keygen", summary: "create a key for a peer or an authority", operands: ["FILE"],
        options: [.json],
        details: """
            Writes a secret key to a new file that only its owner can read, in the format of
            'openssl genpkey -algorithm ed25519', and prints the public key (pk:...), which
            identifies the peer. An existing file is never overwritten.

            JSON keys: key.
            """,
        run: { (arguments, output) throws(ToolError) in
            let pair = try asTool { try PeerKeyPair.generate() }
            try asTool { try pair.save(to: arguments.operands[0]) }
            let key = pair.publicKey.description
            var line = JSONLine()
            line.add("key", key)
            output.write(arguments.has("json") ? line.closed : key)
            return .ok
        })

    /// The command `sheaf grant`.
    static let grant = Command(
        name: "grant", summary: "sign the read and write rights of a peer",
        operands: ["AUTHORITY", "PEER"],
        options: [
            .database,
            Option(
                name: "read", value: "COLLECTION=CONDITION", isRepeatable: true,
                summary: "permit reading documents that match, such as \"cars=owner = 'ann'\""),
            Option(
                name: "write", value: "COLLECTION=CONDITION", isRepeatable: true,
                summary: "permit writing documents that match; \"cars=true\" matches all"),
            Option(name: "all", summary: "permit reading and writing everything"),
            Option(name: "days", value: "DAYS", summary: "set the validity period (default: 30)"),
            .json,
        ],
        details: """
            AUTHORITY is the key file of the authority, created by 'sheaf keygen'; PEER is the
            public key (pk:...) of the peer. Prints the grant on one line, for the file that the
            peer passes to --grant. A grant is not secret: only the owner of the key can use it.
            Collections that are not listed can be neither read nor written.

            JSON keys: grant, authority, peer, from, fromMilliseconds, until, untilMilliseconds.
            """,
        run: GrantCommand.run)
}

/// The implementation of `sheaf grant`.
enum GrantCommand {
    private static let maximumDays: UInt64 = 36_500
    private static let millisecondsADay: UInt64 = 86_400_000

    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        guard let peer = PeerKey(arguments.operands[1]) else {
            throw KeyFile.noKey(arguments.operands[1], of: "PEER")
        }
        let database = try arguments.required("database", "ID")
        let days = try arguments.number("days") ?? 30
        guard 1...maximumDays ~= days else {
            throw .usage("--days must be 1 to \(maximumDays), not \(days)")
        }
        let rights = try rights(arguments)
        let file = arguments.operands[0]
        let pair = try asTool { try PeerKeyPair.load(from: file) }
        let now = Clock.system.wallMilliseconds()
        let valid = now..<now + days * millisecondsADay
        let grant = try asTool {
            try PeerGrant(
                authority: pair, databaseID: DatabaseID(database), peerKey: peer,
                validMilliseconds: valid, rights: rights)
        }
        guard arguments.has("json") else {
            output.write(grant.description)
            return .ok
        }
        var line = JSONLine()
        line.add("grant", grant.description)
        line.add("authority", pair.publicKey.description)
        line.add("peer", peer.description)
        line.add("from", at: valid.lowerBound)
        line.add("until", at: valid.upperBound)
        output.write(line.closed)
        return .ok
    }

    /// Returns the rights from the options; nil grants everything.
    private static func rights(_ arguments: Arguments) throws(ToolError) -> PeerRights? {
        let (read, write) = (arguments.allValues("read"), arguments.allValues("write"))
        guard !arguments.has("all") else {
            guard read.isEmpty, write.isEmpty else {
                throw .usage("--all includes --read and --write; give it alone")
            }
            return nil
        }
        guard !read.isEmpty || !write.isEmpty else {
            throw .usage("no rights given; use --read, --write or --all")
        }
        let rights = PeerRights(
            read: try rules(read, of: "--read"), write: try rules(write, of: "--write"))
        try check(rights)
        return rights
    }

    private static func rules(
        _ words: [String], of option: String
    ) throws(ToolError) -> [String: String] {
        var rules: [String: String] = [:]
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard parts.count == 2, !name.isEmpty, !parts[1].isEmpty else {
                throw .usage(
                    "\(option) requires COLLECTION=CONDITION, such as \"cars=owner = 'ann'\" "
                        + "or \"cars=true\", not '\(word.shortened)'")
            }
            guard rules[name] == nil else {
                throw .usage("\(option) sets '\(name.shortened)' twice; combine conditions with OR")
            }
            rules[name] = String(parts[1])
        }
        return rules
    }

    /// Throws if a condition cannot be evaluated; the peer could not correct it in its grant.
    private static func check(_ rights: PeerRights) throws(ToolError) {
        let peer = try waitFor {
            try await Peer.inMemory(configuration: PeerConfiguration(databaseID: ""))
        }
        for (name, condition) in rights.read.sorted(by: { $0.key < $1.key })
            + rights.write.sorted(by: { $0.key < $1.key })
        {
            let quoted = name.split(separator: "`", omittingEmptySubsequences: false)
                .joined(separator: "``")
            let query = DQL(verbatim: "SELECT * FROM `\(quoted)` WHERE \(condition)")
            do { _ = try peer.sync.checksum(of: query) } catch {
                let message = ToolError(error).message
                throw .usage("invalid condition for \(name.shortened): \(message)")
            }
        }
        try waitFor { try await peer.close() }
    }
}

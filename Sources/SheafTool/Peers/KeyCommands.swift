import Sheaf
import SheafBytes
import SheafNetwork
import SheafStorage

extension Command {
    /// Makes the key of a peer or of an authority.
    static let keygen = Command(
        name: "keygen", summary: "make the key of a peer, or of an authority", operands: ["FILE"],
        options: [.json],
        details: """
            Writes a new file that its owner alone can read, and prints the public key (pk:...), by
            which others know who has it. A file that is there is never replaced. It is what
            'openssl genpkey -algorithm ed25519' writes.

            JSON keys: key.
            """,
        run: { (arguments, output) throws(ToolError) in
            let pair = try asTool { try PeerKeyPair.generate() }
            try asTool { try pair.save(to: arguments.operands[0]) }
            let key = PeerKey(pair.publicKey)?.description
            var line = JSONLine()
            line.add("key", key)
            output.write(arguments.has("json") ? line.closed : key ?? "")
            return .ok
        })

    /// Signs what a peer may do.
    static let grant = Command(
        name: "grant", summary: "sign what a peer may read and write",
        operands: ["AUTHORITY", "PEER"],
        options: [
            .database,
            Option(
                name: "read", value: "COLLECTION=CONDITION", isRepeatable: true,
                summary: "let it read what matches, such as \"cars=owner = 'ann'\""),
            Option(
                name: "write", value: "COLLECTION=CONDITION", isRepeatable: true,
                summary: "let it write what matches; \"cars=true\" is the whole collection"),
            Option(name: "all", summary: "let it read and write everything"),
            Option(name: "days", value: "DAYS", summary: "for so many days, and not for 30"),
            .json,
        ],
        details: """
            AUTHORITY is the file with the key of who grants, of 'sheaf keygen'; PEER is the public
            key (pk:...) of who is granted. Prints the grant as one line, which goes into the file
            that the peer shows with --grant. It is no secret: only who has the key can use it.
            What is not named cannot be read or written.

            JSON keys: grant, authority, peer, from, fromMilliseconds, until, untilMilliseconds.
            """,
        run: GrantCommand.run)
}

/// `sheaf grant`.
enum GrantCommand {
    private static let mostDays: UInt64 = 36_500
    private static let millisecondsADay: UInt64 = 86_400_000

    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        guard let peer = PeerKey(arguments.operands[1]) else {
            throw KeyFile.noKey(arguments.operands[1], of: "PEER")
        }
        let database = try arguments.required("database", "ID")
        let days = try arguments.number("days") ?? 30
        guard 1...mostDays ~= days else {
            throw .usage("--days is 1 to \(mostDays), not \(days)")
        }
        let rights = try rights(arguments)
        let file = arguments.operands[0]
        let pair = try asTool { try PeerKeyPair.load(from: file) }
        let now = Clock.system.wallMilliseconds()
        let valid = now..<now + days * millisecondsADay
        let grant = try asTool {
            try PeerGrant(
                authority: pair, databaseID: PeerConfiguration.databaseBytes(of: database),
                peerKey: peer.bytes, validMilliseconds: valid, rights: rights)
        }
        guard arguments.has("json") else {
            output.write(KeyFile.text(of: grant))
            return .ok
        }
        var line = JSONLine()
        line.add("grant", KeyFile.text(of: grant))
        line.add("authority", PeerKey(pair.publicKey)?.description)
        line.add("peer", peer.description)
        line.add("from", at: valid.lowerBound)
        line.add("until", at: valid.upperBound)
        output.write(line.closed)
        return .ok
    }

    /// What is granted; nothing stands for everything.
    private static func rights(_ arguments: Arguments) throws(ToolError) -> PeerRights? {
        let (read, write) = (arguments.allValues("read"), arguments.allValues("write"))
        guard !arguments.has("all") else {
            guard read.isEmpty, write.isEmpty else {
                throw .usage("--all is everything, so --read and --write add nothing to it")
            }
            return nil
        }
        guard !read.isEmpty || !write.isEmpty else {
            throw .usage("nothing is granted: --read, --write or --all says what is")
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
                    "\(option) needs a collection and a condition, such as \"cars=owner = 'ann'\" "
                        + "or \"cars=true\", not '\(word.shortened)'")
            }
            guard rules[name] == nil else {
                throw .usage("\(option) names '\(name.shortened)' twice; OR joins conditions")
            }
            rules[name] = String(parts[1])
        }
        return rules
    }

    /// Asks what will read the rules whether it can: who is refused by them later cannot mend them.
    private static func check(_ rights: PeerRights) throws(ToolError) {
        let peer = try waitFor {
            try await Peer.inMemory(configuration: PeerConfiguration(databaseID: ""))
        }
        for (name, condition) in rights.read.sorted(by: { $0.key < $1.key })
            + rights.write.sorted(by: { $0.key < $1.key })
        {
            let quoted = name.split(separator: "`", omittingEmptySubsequences: false)
                .joined(separator: "``")
            let query = Query(verbatim: "SELECT * FROM `\(quoted)` WHERE \(condition)")
            do { _ = try peer.sync.checksum(of: query) } catch {
                let message = ToolError(error).message
                throw .usage("the condition on \(name.shortened) cannot be granted: \(message)")
            }
        }
        try waitFor { try await peer.close() }
    }
}

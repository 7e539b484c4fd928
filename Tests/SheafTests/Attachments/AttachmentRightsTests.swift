import Sheaf
import SheafAttachments
import SheafDocument
import SheafStatements
import SheafStorage
import SheafSync
import Testing

/// The attachments that peers with limited rights may fetch.
@Suite struct AttachmentRightsTests {
    let secret = SampleFile(seed: 11, length: 2 * 262_144 + 9)
    /// Rights to read and write the documents of one owner.
    static let rightsOfAnn = rights(of: "ann")
    static let rightsOfBob = rights(of: "bob")

    static func rights(of owner: String) -> PeerRights {
        PeerRights(read: ["cars": "owner = '\(owner)'"], write: ["cars": "owner = '\(owner)'"])
    }

    /// Creates a server, node 0, that subscribes to all cars, and other peers.
    ///
    /// The server has the file of a car that ann may not read.
    func scene(_ count: Int = 2, hasSecret: Bool = true) throws -> FileScene {
        let scene = try FileScene(count)
        try scene.subscribe(0, ["SELECT * FROM cars"])
        if hasSecret { _ = try scene.nodes[0].attachments.add(secret.bytes) }
        try scene.nodes[0].insert(
            "secret", naming: secret.id, length: secret.bytes.count, owner: "bob")
        return scene
    }

    func settle(_ scene: FileScene) throws {
        try scene.run()
        for _ in 0..<4 { try scene.advance(seconds: 2) }
    }

    func token(_ file: SampleFile) throws -> QueryArguments {
        QueryArguments(["token": try file.token.value])
    }

    // MARK: Refused requests

    @Test func `a token that a peer writes does not give that peer the file`() throws {
        let scene = try scene()
        try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try scene.nodes[1].insert("mine", naming: secret.id, length: secret.bytes.count)
        try scene.recordPublished(1)
        try scene.fetch(secret.id, by: 1)
        try settle(scene)
        #expect(try scene.nodes[0].rows("SELECT _id FROM cars").count == 2)
        #expect(scene.nodes[1].complete.isEmpty)
        #expect(scene.nodes[0].sentParts == 0)
    }

    @Test func `a token that a peer writes does not give other peers the file`() throws {
        let scene = try scene(3)
        try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try scene.connect(0, 2, rightsOfRight: Self.rightsOfAnn)
        try scene.fetch(secret.id, by: 2)
        try scene.nodes[1].insert("mine", naming: secret.id, length: secret.bytes.count)
        try scene.recordPublished(1)
        try settle(scene)
        #expect(scene.nodes[2].complete.isEmpty)
    }

    @Test(arguments: [
        "UPDATE COLLECTION cars (photo ATTACHMENT) SET photo = :token WHERE _id = 'mine'",
        "UPDATE COLLECTION cars (box MAP (deep ATTACHMENT)) SET box.deep = :token WHERE _id = 'mine'",
        "UPDATE COLLECTION cars (box MAP) SET box = {'deep': :token} WHERE _id = 'mine'",
        "UPDATE COLLECTION cars (box REGISTER) SET box = [:token] WHERE _id = 'mine'",
        "INSERT INTO COLLECTION cars (p ATTACHMENT) DOCUMENTS ({'_id': 'mine', 'owner': 'ann', 'p': :token}) ON ID CONFLICT DO UPDATE",
    ])
    func `a token that a peer writes into an existing document is unproven`(
        _ statement: String
    ) throws {
        let scene = try scene()
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'mine', 'owner': 'ann'})")
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try scene.run()
        // Without the type ATTACHMENT the token is an object of the same shape.
        try scene.execute(1, DQL(verbatim: statement), try token(secret))
        try scene.fetch(secret.id, by: 1)
        try settle(scene)
        #expect(scene.nodes[1].complete.isEmpty)
    }

    @Test func `a token received through a relay is unproven`() throws {
        let scene = try scene(3)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.connect(0, 1)
        try scene.run()
        try scene.connect(1, 2, rightsOfRight: Self.rightsOfAnn)
        try scene.nodes[2].insert("mine", naming: secret.id, length: secret.bytes.count)
        try scene.recordPublished(2)
        try settle(scene)
        #expect(try scene.nodes[0].rows("SELECT _id FROM cars").count == 2)
        try scene.connect(0, 2, rightsOfRight: Self.rightsOfAnn)
        try scene.fetch(secret.id, by: 2)
        try settle(scene)
        #expect(scene.nodes[2].complete.isEmpty)
        // Later changes of the document, by the peer or the relay, do not prove the token.
        try scene.execute(2, "UPDATE cars SET n = 1 WHERE _id = 'mine'")
        try settle(scene)
        try scene.execute(1, "UPDATE cars SET n = 2 WHERE _id = 'mine'")
        try settle(scene)
        #expect(try scene.nodes[0].rows("SELECT n FROM cars WHERE _id = 'mine'") == [#"{"n":2}"#])
        #expect(scene.nodes[2].complete.isEmpty)
    }

    @Test(arguments: [false, true])
    func `a restart does not make tokens proven`(_ isPowerCut: Bool) throws {
        let scene = try scene()
        try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try scene.nodes[1].insert("mine", naming: secret.id, length: secret.bytes.count)
        try scene.recordPublished(1)
        try settle(scene)
        #expect(try scene.nodes[0].rows("SELECT _id FROM cars").count == 2)
        try scene.restart(0, isPowerCut: isPowerCut)
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try scene.fetch(secret.id, by: 1)
        try settle(scene)
        #expect(scene.nodes[1].complete.isEmpty)
    }

    @Test func `a restarted relay still reports unproven tokens`() throws {
        let scene = try scene(3)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.connect(1, 2, rightsOfRight: Self.rightsOfAnn)
        try scene.nodes[2].insert("mine", naming: secret.id, length: secret.bytes.count)
        try scene.recordPublished(2)
        try scene.run()
        try scene.restart(1, isPowerCut: true)
        try scene.connect(0, 1)
        try scene.run()
        #expect(try scene.nodes[0].rows("SELECT _id FROM cars").count == 2)
        try scene.connect(0, 2, rightsOfRight: Self.rightsOfAnn)
        try scene.fetch(secret.id, by: 2)
        try settle(scene)
        #expect(scene.nodes[2].complete.isEmpty)
    }

    @Test func `a token that was removed before it was relayed is unproven`() throws {
        let scene = try scene(3)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.connect(1, 2, rightsOfRight: Self.rightsOfAnn)
        try scene.nodes[2].insert("mine", naming: secret.id, length: secret.bytes.count)
        try scene.recordPublished(2)
        try scene.run()
        try scene.execute(
            2, "UPDATE COLLECTION cars (photo ATTACHMENT) UNSET photo WHERE _id = 'mine'")
        try scene.run()
        try scene.connect(0, 2, rightsOfRight: Self.rightsOfAnn)
        try scene.fetch(secret.id, by: 2)
        try scene.connect(0, 1)
        try settle(scene)
        #expect(scene.nodes[2].complete.isEmpty)
    }

    @Test func `tokens beyond the maximum number of unproven tokens are not valid`() throws {
        let scene = try scene()
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try insert(tokens: SyncLimits.unprovenTokens + 1, into: scene)
        try scene.fetch(secret.id, by: 1)
        try settle(scene)
        #expect(try scene.nodes[0].rows("SELECT _id FROM cars").count == 2)
        #expect(scene.nodes[1].complete.isEmpty)
    }

    /// Inserts a document of ann with tokens of the secret file and of unknown files.
    func insert(tokens count: Int, into scene: FileScene) throws {
        var tokens: Object = [:]
        for number in 0..<count {
            let file = number == 0 ? secret : nil
            let id =
                file?.id
                ?? AttachmentID(bytes: (0..<32).map { UInt8((number >> ($0 % 4 * 3)) & 255) })
            tokens["t\(number)"] = ["id": .string(id?.description ?? ""), "len": .integer(1)]
        }
        let fields = tokens.map { "\($0.name) ATTACHMENT" }.joined(separator: ", ")
        try scene.execute(
            1,
            DQL(
                verbatim:
                    "INSERT INTO COLLECTION cars (box MAP (\(fields))) DOCUMENTS ({'_id': 'mine', 'owner': 'ann', 'box': :tokens})"
            ),
            QueryArguments(["tokens": .object(tokens)]))
    }

    // MARK: Hidden state

    /// Returns all frames that the server sends to the peer that writes the token.
    private func sentToSender(
        hasSecret: Bool, fetchedBy fetcher: Int?, hasFile: Bool
    ) throws -> [SentFrame] {
        let scene = try scene(4, hasSecret: hasSecret)
        try scene.connect(0, 2, rightsOfRight: Self.rightsOfAnn)
        try scene.connect(0, 3)
        let wire = try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        if hasFile { _ = try scene.nodes[1].attachments.add(secret.bytes) }
        try scene.nodes[1].insert("mine", naming: secret.id, length: secret.bytes.count)
        try scene.recordPublished(1)
        try scene.fetch(secret.id, by: 1)
        try settle(scene)
        if let fetcher { try scene.fetch(secret.id, by: fetcher) }
        try settle(scene)
        return (scene.sent[wire]?[0] ?? []).map(SentFrame.init)
    }

    private struct SentFrame {
        let bytes: [UInt8]

        init(_ frame: [UInt8]) { bytes = Array(frame.dropFirst(8)) }

        var type: UInt8 { bytes.first ?? 0 }
        var isOfFiles: Bool { 20...24 ~= type }
    }

    @Test(arguments: [nil, 0, 1, 2, 3] as [Int?], [false, true])
    func `frames sent to the writer of a token do not depend on the file`(
        _ fetcher: Int?, _ hasFile: Bool
    ) throws {
        let local = try sentToSender(hasSecret: true, fetchedBy: fetcher, hasFile: hasFile)
        let away = try sentToSender(hasSecret: false, fetchedBy: fetcher, hasFile: hasFile)
        #expect(local.count > 3)
        #expect(local.map(\.type) == away.map(\.type))
        // The bytes of other frames are not compared, because they contain random numbers.
        #expect(local.filter(\.isOfFiles).map(\.bytes) == away.filter(\.isOfFiles).map(\.bytes))
        #expect(local.count(where: \.isOfFiles) >= (fetcher == nil || fetcher == 1 ? 0 : 1))
    }

    @Test func `a file is not requested from a peer that may not read its documents`() throws {
        let scene = try scene(hasSecret: false)
        let wire = try scene.connect(0, 1, rightsOfRight: Self.rightsOfAnn)
        try scene.fetch(secret.id, by: 0)
        try settle(scene)
        #expect(try seeks(scene, on: wire) == 0)
        try scene.nodes[0].insert("open", naming: secret.id, length: secret.bytes.count)
        try scene.recordPublished(0)
        try settle(scene)
        #expect(try seeks(scene, on: wire) == 1)
    }

    private func seeks(_ scene: FileScene, on wire: UInt64) throws -> Int {
        (scene.sent[wire]?[0] ?? []).count { $0.count > 8 && $0[8] == FrameType.seek.rawValue }
    }
}

import Sheaf
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTestSupport
import SheafTransport
import Testing

/// Tests of the documents that a peer may read or be sent, by its rights and the scopes.
struct PeerAccessTests {
    private static let red = PeerRights(
        read: ["cars": "color = 'red'"], write: ["cars": "n = 1"])
    private static let blue = PeerRights(read: [:], write: ["cars": "color = 'blue'"])

    /// A store with two cars and a boat.
    private struct Scene {
        let store: SceneStore
        let snapshot: DocumentSnapshot

        init() throws {
            store = try SceneStore(SimulatedVolume(seed: 1), LogStoreOptions())
            for (collection, id, color) in [
                ("cars", "red", "red"), ("cars", "blue", "blue"), ("boats", "red", "red"),
                ("cars", "gone", "red"),
            ] {
                try store.change(
                    DocumentChange(
                        collection, .string(id),
                        .insert(["color": .string(color)], onConflict: .merge)))
            }
            try store.change(DocumentChange("cars", .string("gone"), .delete))
            snapshot = store.queries.documents.snapshot()
        }

        func access(
            _ rights: PeerRights?, own: PeerRights?, _ scopes: Object = [:], isServer: Bool = false
        ) throws -> PeerAccess {
            let stop = EvaluationStop()
            var access = PeerAccess(rights, own: own, try SyncScopes(scopes), until: stop)
            try access.open(store.queries, isServer: isServer, until: stop)
            return access
        }

        func document(
            _ id: String, of collection: String
        ) throws -> (document: StoredDocument, key: [UInt8], address: DocumentAddress) {
            let address = DocumentAddress(
                collection: collection, id: try DocumentID.key(of: .string(id)))
            let key = try #require(snapshot.key(of: address))
            return (try #require(try snapshot.document(key)), key, address)
        }

        /// Returns what the peer may do with a document: read it, be sent it, rank it, and name it.
        func rights(
            _ access: PeerAccess, _ id: String, of collection: String = "cars"
        ) throws -> [Bool] {
            let (document, key, address) = try document(id, of: collection)
            let names = snapshot.names
            let filter = access.rankFilter(in: snapshot, isOwn: false)
            let isRanked = try filter?(document, key, address) ?? true
            return [
                try access.mayRead(document, key, address, names),
                try access.maySend(document, before: nil, key, address, names), isRanked,
                try access.isShown(document, key, address, names, isOwn: true),
            ]
        }
    }

    @Test func `a peer without rights and scopes may read and be sent everything`() throws {
        let scene = try Scene()
        let access = try scene.access(nil, own: nil)
        #expect(!access.isLimited && !access.needsProofs && !access.isRestricted)
        #expect(access.readableCollections == nil && access.maySelectSome(of: "boats"))
        for id in ["red", "blue", "gone"] {
            #expect(try scene.rights(access, id) == [true, true, true, true], "\(id)")
        }
        #expect(access.rankFilter(in: scene.snapshot, isOwn: true) == nil)
    }

    @Test func `the read rule of a peer decides what it may read and be sent`() throws {
        let scene = try Scene()
        let access = try scene.access(Self.red, own: nil)
        #expect(access.isLimited && access.needsProofs && access.isRestricted)
        #expect(access.readableCollections == ["cars"])
        #expect(access.maySelectSome(of: "cars") && !access.maySelectSome(of: "boats"))
        #expect(try scene.rights(access, "red") == [true, true, true, true])
        #expect(try scene.rights(access, "blue") == [false, false, false, false])
        #expect(try scene.rights(access, "red", of: "boats") == [false, false, false, false])
    }

    @Test func `the write rule of this peer decides what it may send`() throws {
        let scene = try Scene()
        let access = try scene.access(nil, own: Self.blue)
        #expect(!access.isLimited && !access.needsProofs && access.isRestricted)
        #expect(access.readableCollections == nil)
        #expect(access.maySelectSome(of: "cars") && !access.maySelectSome(of: "boats"))
        #expect(try scene.rights(access, "red") == [true, false, false, true])
        #expect(try scene.rights(access, "blue") == [true, true, true, true])
        #expect(try scene.rights(access, "red", of: "boats") == [true, false, false, true])
    }

    @Test func `a document is sent only if both rules permit it`() throws {
        let scene = try Scene()
        let access = try scene.access(Self.red, own: Self.blue)
        #expect(try scene.rights(access, "red") == [true, false, false, true])
        #expect(try scene.rights(access, "blue") == [false, false, false, false])
    }

    @Test func `a deletion may be sent to a peer that could read the state before`() throws {
        let scene = try Scene()
        let (tombstone, key, address) = try scene.document("gone", of: "cars")
        let names = scene.snapshot.names
        let red = try scene.document("red", of: "cars").document
        let blue = try scene.document("blue", of: "cars").document
        let access = try scene.access(Self.red, own: nil)
        for (before, maySend) in [(red, true), (blue, false), (nil, false)]
            as [(StoredDocument?, Bool)]
        {
            #expect(
                try access.maySend(tombstone, before: before, key, address, names) == maySend)
        }
        // Of a document that exists, the state before does not matter.
        #expect(try !access.maySend(blue, before: red, key, address, names))
        #expect(try !access.maySelect(nil, key, address, names))
        #expect(try scene.access(nil, own: nil).maySelect(nil, key, address, names))
    }

    @Test(arguments: [
        ("AllPeers", true, true), ("BigPeerOnly", true, false), ("SmallPeersOnly", false, true),
        ("LocalPeerOnly", false, false),
    ])
    func `a collection is shared with servers, with other peers, or with none`(
        _ scope: String, _ withServers: Bool, _ withOthers: Bool
    ) throws {
        let scene = try Scene()
        for isServer in [true, false] {
            let access = try scene.access(
                nil, own: nil, ["cars": .string(scope)], isServer: isServer)
            let isShared = isServer ? withServers : withOthers
            #expect(access.isShared("cars") == isShared && access.isShared("boats"))
            #expect(access.maySelectSome(of: "cars") == isShared)
            #expect(access.maySelectSome(of: "boats") && access.isRestricted)
            #expect(!access.isLimited && access.readableCollections == nil)
            let expected = [Bool](repeating: isShared, count: 4)
            #expect(try scene.rights(access, "red") == expected)
            #expect(try scene.rights(access, "red", of: "boats") == [true, true, true, true])
        }
    }
}

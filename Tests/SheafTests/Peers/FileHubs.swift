import Sheaf
import SheafAttachments
import SheafDocument
import SheafHub
import SheafHubLog
import SheafMesh
import SheafReplication
import SheafStatements
import SheafTestSupport

/// Hubs of a scene, with what moves their files between their clients and the object store.
struct FileHubs {
    let scene: DocumentScene
    let log: LogDouble
    /// The movers of files, by the numbers of the hubs; those without one are dead.
    var files: [Int: HubFiles] = [:]

    /// Settings with which files have many parts.
    static var settings: HubSettings {
        var settings = DocumentScene.quickSettings
        settings.fileChunks = 2
        settings.fileBytesPerSecond = .max
        settings.cleaningMilliseconds = 60_000
        return settings
    }

    /// Makes hubs 0 and 1, and clients 2 and 3 of the first, and of the second.
    init(
        seed: UInt64 = 1, settings: HubSettings = FileHubs.settings,
        rightsOfFirst: PeerRights? = nil,
        rightsOfSecond: PeerRights? = nil, limits: ReplicatorLimits = ReplicatorLimits()
    ) throws {
        log = LogDouble(seed: seed)
        scene = try DocumentScene.hubs(log, 2, limits, connectsClients: false)
        for hub in 0..<2 {
            files[hub] = HubFiles(SceneHub(scene, hub), log.objects, settings)
        }
        try scene.connect(0, 2, rightsOfRight: rightsOfFirst)
        try scene.connect(1, 3, rightsOfRight: rightsOfSecond)
        try scene.run(seconds: 3)
        // A hub that begins waits before it seeks the files of documents that it has.
        for hub in 0..<2 { try step(hub) }
    }

    var objects: ObjectDouble { log.objects }

    /// The names of the objects of files.
    var names: [String] { objects.names.filter { $0.hasPrefix(HubObjectName.files) } }

    /// Runs for a time, with steps of each hub four times a second; returns what they have done.
    @discardableResult
    mutating func run(seconds: Int) throws -> [HubFiles.Event] {
        var events: [HubFiles.Event] = []
        for _ in 0..<seconds * 4 {
            try scene.advance(milliseconds: 250)
            for hub in files.keys.sorted() { events += try step(hub) }
        }
        return events
    }

    /// Runs the steps of one hub until it has nothing to do.
    @discardableResult
    mutating func step(_ hub: Int) throws -> [HubFiles.Event] {
        var events: [HubFiles.Event] = []
        repeat {
            events += try files[hub]?.step() ?? []
            try scene.perform(hub)
            try scene.run()
        } while files[hub]?.isBusy == true
        return events
    }

    /// Inserts a document of a client that references a file.
    func insert(
        _ id: String, _ file: SampleFile, by client: Int, owner: String = "ann"
    ) throws {
        let car: Object = [
            "_id": .string(id), "owner": .string(owner), "photo": try file.token.value,
        ]
        try scene.execute(
            client, "INSERT INTO COLLECTION cars (photo ATTACHMENT) DOCUMENTS (:car)",
            QueryArguments(["car": .object(car)]))
    }

    func add(_ file: SampleFile, to client: Int) throws {
        _ = try scene.nodes[client].store.attachments.add(file.bytes)
    }

    func fetch(_ file: SampleFile, by client: Int) throws {
        scene.nodes[client].replicator.fetch(file.id, at: scene.now)
        try scene.perform(client)
        try scene.run()
    }

    /// Whether a node has the whole file.
    func has(_ file: SampleFile, _ node: Int) throws -> Bool {
        try scene.nodes[node].store.attachments.bytes(of: file.id) == file.bytes
    }

    /// Ends a hub and all connections of the node.
    mutating func end(_ node: Int) throws {
        files[node] = nil
        for wire in scene.connections(of: node) { try scene.disconnect(wire) }
    }
}

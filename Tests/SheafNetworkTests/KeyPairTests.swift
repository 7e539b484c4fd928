import SheafNetwork
import SheafTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Key pairs and their files.
struct KeyPairTests {
    private let directory = TemporaryDirectory()

    private func put(_ text: String, into path: String) {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        _ = text.withCString { write(file, $0, strlen($0)) }
        close(file)
    }

    @Test func `a key pair survives a round trip through its file`() throws {
        let key = try PeerKeyPair.generate()
        let path = directory.path("key")
        try key.save(to: path)
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(try PeerKeyPair.load(from: path).publicKey == key.publicKey)
        #expect(try PeerKeyPair.generate().publicKey != key.publicKey)
    }

    @Test func `saving a key pair does not overwrite a file`() throws {
        let path = directory.path("key")
        let key = try PeerKeyPair.generate()
        try key.save(to: path)
        #expect(rule { try PeerKeyPair.generate().save(to: path) } == .keyFile)
        #expect(try PeerKeyPair.load(from: path).publicKey == key.publicKey)
    }

    @Test(arguments: [0o640, 0o604, 0o660, 0o644, 0o601, 0o777] as [mode_t])
    func `a key file accessible to other users is refused`(_ mode: mode_t) throws {
        let path = directory.path("key")
        try PeerKeyPair.generate().save(to: path)
        chmod(path, mode)
        #expect(rule { _ = try PeerKeyPair.load(from: path) } == .keyFile)
        chmod(path, 0o400)
        #expect(rule { _ = try PeerKeyPair.load(from: path) } == nil)
    }

    @Test func `anything but a valid key file is refused`() throws {
        let path = directory.path("key")
        try PeerKeyPair.generate().save(to: path)
        symlink(path, directory.path("link"))
        mkfifo(directory.path("pipe"), 0o600)
        for name in ["link", "pipe", "nothing", "."] {
            #expect(rule { _ = try PeerKeyPair.load(from: directory.path(name)) } == .keyFile)
        }
        let begin = "-----BEGIN PRIVATE KEY-----\n"
        let end = "\n-----END PRIVATE KEY-----\n"
        let right = "MC4CAQAwBQYDK2VwBCIEIBZ/JF548i7sUiU8/7uZvBj0/f/WHowuWjhdbiB7z9I6"
        put(begin + right + end, into: path)
        #expect(rule { _ = try PeerKeyPair.load(from: path) } == nil)
        let wrong = [
            "", begin, begin + right, begin + right.dropLast() + end,
            // The first has an unknown algorithm, the second a character outside Base64.
            begin + right.replacing("VwBC", with: "VuBC") + end,
            begin + right.replacing("M", with: "!") + end,
            begin + right + end + "more\n",
            begin.replacing("PRIVATE", with: "PUBLIC") + right + end,
        ]
        for text in wrong {
            put(text, into: path)
            #expect(rule { _ = try PeerKeyPair.load(from: path) } == .keyFile, "\(text)")
        }
    }

    @Test func `the error for a key file says what is wrong with it`() throws {
        let path = directory.path("key")
        func message(_ body: () throws -> Void) -> String? {
            do {
                try body()
                return nil
            } catch {
                return (error as? NetworkError)?.text.replacing(path, with: "the file")
            }
        }
        func load() -> String? { message { _ = try PeerKeyPair.load(from: path) } }
        #expect(load() == "cannot open the file: No such file or directory")
        let first = try PeerKeyPair.loadOrGenerate(at: path)
        let second = try PeerKeyPair.loadOrGenerate(at: path)
        #expect(first.publicKey == second.publicKey)
        #expect(
            message { try first.save(to: path) }
                == "cannot create the file: File exists; the file must not exist")
        chmod(path, 0o4640)
        #expect(
            load()
                == "the file has the mode 640, so other users can access the key; it must be 600 "
                + "(chmod 600 the file)")
        chmod(path, 0o600)
        let text = try #require(file(path))
        #expect(text.count == 28 + 64 + 1 + 26)
        put("x", into: path)
        let format =
            "the file is not an Ed25519 key as written by `openssl genpkey -algorithm ed25519` "
            + "without a password"
        #expect(load() == format)
        // A file of another length is refused, even if it begins with a key.
        put(text + String(repeating: "\n", count: 5_000), into: path)
        #expect(load() == format)
        unlink(path)
        mkdir(path, 0o700)
        #expect(load() == "the file is not a regular file")
    }

    /// Returns the text of a short file.
    private func file(_ path: String) -> String? {
        let file = open(path, O_RDONLY)
        var bytes = [UInt8](repeating: 0, count: 1_000)
        let count = read(file, &bytes, bytes.count)
        close(file)
        return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    @Test func `descriptions contain no secret bytes`() throws {
        let seed = Array(UInt8(200)..<232)
        let key = try PeerKeyPair(seed: seed)
        let shared = try SharedKey(seed)
        var texts: [String] = ["\(key)", "\(shared)", String(reflecting: key)]
        texts.append("\(NetworkIdentity.sharedKey(shared))")
        var dumped = ""
        dump(key, to: &dumped)
        dump(shared, to: &dumped)
        dump(
            NetworkConfiguration(
                databaseID: Peers.databaseID, keyPair: key, identity: .sharedKey(shared)),
            to: &dumped)
        texts.append(dumped)
        for text in texts {
            #expect(!text.contains("200, 201") && !text.contains("c8c9") && !text.contains("- 200"))
        }
        #expect("\(key)".count == "the key pair of pk:".count + 64)
    }

    @Test func `keys of a wrong length are refused`() {
        for count in [0, 31, 33] {
            #expect(rule { _ = try PeerKeyPair(seed: Array(repeating: 1, count: count)) } == .key)
        }
        for count in [0, 15, 1_025] {
            #expect(rule { _ = try SharedKey(Array(repeating: 1, count: count)) } == .key)
        }
        for count in [16, 1_024] {
            #expect(rule { _ = try SharedKey(Array(repeating: 1, count: count)) } == nil)
        }
    }
}

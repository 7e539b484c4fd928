import Sheaf
import SheafAttachments
import SheafDocument
import SheafStatements
import SheafTestSupport
import Testing

@Suite struct AttachmentTokenTests {
    private let id = String(repeating: "0123456789abcdef", count: 4)

    @Test func `a token has the known fields of the value it was parsed from`() throws {
        let value: Value = [
            "id": .string(id), "len": 12, "metadata": ["name": "car.jpeg", "type": ""],
        ]
        let token = try AttachmentToken(value)
        #expect(token.id.description == id)
        #expect(token.length == 12)
        #expect(token.metadata == ["name": "car.jpeg", "type": ""])
        #expect(token.value.json == value.json)
        let bare = try AttachmentToken(["id": .string(id), "len": 0, "more": true])
        #expect(bare.metadata.isEmpty)
        #expect(bare.value.json == (["id": .string(id), "len": 0] as Value).json)
    }

    @Test(arguments: [
        ("it is number, not object", "1"),
        ("it has no string `id`", #"{"len": 1}"#),
        ("it has no string `id`", #"{"id": 1, "len": 1}"#),
        ("its `id` is not 64 hexadecimal digits", #"{"id": "abc", "len": 1}"#),
        ("its `id` is not 64 hexadecimal digits", #"{"id": "AB?", "len": 1}"#),
        ("it has no integer `len`", #"{"id": "?"}"#),
        ("it has no integer `len`", #"{"id": "?", "len": 1.5}"#),
        ("its `len` is -1, not from 0 to 68719476736", #"{"id": "?", "len": -1}"#),
        (
            "its `len` is 68719476737, not from 0 to 68719476736",
            #"{"id": "?", "len": 68719476737}"#
        ),
        ("its `metadata` is not an object", #"{"id": "?", "len": 1, "metadata": "x"}"#),
        (
            "its `metadata` has a value that is not a string",
            #"{"id": "?", "len": 1, "metadata": {"a": 1}}"#
        ),
        (
            "its `metadata` is longer than 16384 bytes",
            #"{"id": "?", "len": 1, "metadata": {"a": "!"}}"#
        ),
    ])
    func `the error for an invalid token has a reason`(_ reason: String, _ json: String) throws {
        let spelled = json.map { character in
            switch character {
            case "?": json.contains("AB?") ? String(repeating: "A", count: 62) : id
            case "!": String(repeating: "é", count: 8_192)
            default: String(character)
            }
        }.joined()
        let value = try Value(json: spelled)
        let error = #expect(throws: StoreError.self) { try AttachmentToken(value) }
        #expect(error?.reason == .argument)
        #expect(error?.message == "the value is not an attachment token: \(reason)")
    }

    /// A decoder that fails with a long error.
    private struct FailingDecoder: Decoder {
        package struct Failure: Error, CustomStringConvertible {
            let description = LongInput.text
        }

        let codingPath: [any CodingKey] = []
        let userInfo: [CodingUserInfoKey: Any] = [:]

        func container<Key>(keyedBy: Key.Type) throws -> KeyedDecodingContainer<Key> {
            throw Failure()
        }

        func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Failure() }

        func singleValueContainer() throws -> any SingleValueDecodingContainer { throw Failure() }
    }

    @Test func `the metadata of a token has at most 16,384 bytes, names included`() throws {
        func token(_ count: Int) throws -> AttachmentToken {
            let text = String(repeating: "\u{E9}", count: count / 2 - 1)
            let metadata: Value = ["ab": .string(text), "": .string(count % 2 == 1 ? "x" : "")]
            return try AttachmentToken(["id": .string(id), "len": 1, "metadata": metadata])
        }
        #expect(AttachmentToken.length(of: try token(16_384).metadata) == 16_384)
        #expect(AttachmentToken.length(of: try token(16_383).metadata) == 16_383)
        let error = #expect(throws: StoreError.self) { try token(16_385) }
        #expect(error?.message.contains("16384 bytes") == true)
    }

    @Test(arguments: [0 as Int64, 68_719_476_736])
    func `the length of a token is from 0 to 64 GiB`(length: Int64) throws {
        let token = try AttachmentToken(["id": .string(id), "len": .integer(length)])
        #expect(token.length == Int(length))
    }

    @Test func `a decoding error for an invalid token has a shortened reason`() async throws {
        let store = try await Store.inMemory()
        try await store.execute(
            "INSERT INTO cars DOCUMENTS ({'_id': 1, 'photo': {'id': 'a', 'len': 1}})")
        let result = try await store.execute("SELECT * FROM cars")
        let item = try #require(result.items.first)
        let refused = #expect(throws: DecodingError.self) { try item.decode(Photo.self) }
        guard case .dataCorrupted(let context) = refused else {
            Issue.record("\(String(describing: refused))")
            return
        }
        #expect(
            context.debugDescription
                == "the value is not an attachment token: its `id` is not 64 hexadecimal digits")
        #expect(context.codingPath.map(\.stringValue) == ["photo"])
        try await store.close()
        let failed = #expect(throws: DecodingError.self) {
            try AttachmentToken(from: FailingDecoder())
        }
        let text = "\(try #require(failed))"
        #expect(LongInput.problem(in: text, atMost: 100) == nil)
    }

    private struct Photo: Decodable {
        let photo: AttachmentToken
    }

    private struct Car: Codable, Equatable {
        let name: String
        let photo: AttachmentToken
    }

    @Test func `Codable types can have fields with tokens`() async throws {
        let token = try AttachmentToken(["id": .string(id), "len": 7, "metadata": ["a": "b"]])
        let store = try await Store.inMemory()
        let car = Car(name: "A", photo: token)
        try await store.execute(
            "INSERT INTO COLLECTION cars (photo ATTACHMENT) DOCUMENTS (:car)",
            ["car": ["_id": 1, "name": "A", "photo": token.value] as Value])
        let result = try await store.execute("SELECT * FROM cars")
        #expect(try result.items[0].decode(Car.self) == car)
        try await store.execute("UPDATE cars SET other = :car", QueryArguments(["car": car.photo]))
        let other = try await store.execute("SELECT other FROM cars")
        #expect(try AttachmentToken(try #require(try other.items[0]["other"])) == token)
        try await store.close()
    }

    @Test func `an id is 32 bytes or 64 hexadecimal digits`() {
        #expect(AttachmentID(id)?.bytes.prefix(3) == [0x01, 0x23, 0x45])
        #expect(AttachmentID(String(id.dropLast())) == nil)
        #expect(AttachmentID(id + "0") == nil)
        #expect(AttachmentID(String(id.dropLast()) + "g") == nil)
        #expect(AttachmentID(bytes: [UInt8](repeating: 1, count: 31)) == nil)
        #expect(
            AttachmentID(bytes: [UInt8](repeating: 1, count: 32))?.description
                == String(repeating: "01", count: 32))
    }
}

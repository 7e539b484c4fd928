import SheafInspector
import Testing

/// Tests of requests, of listening addresses and of growing bodies, without a server.
@Suite struct HTTPRequestTests {
    private func request(
        _ target: String, _ header: [(name: String, value: String)] = []
    ) -> HTTPRequest {
        HTTPRequest(method: "GET", target: Array(target.utf8), header: header)
    }

    @Test func `a target has a path and parameters, in which escapes are decoded`() {
        let paths: [(target: String, path: String?)] = [
            ("/", "/"), ("", ""), ("/a%20b+c", "/a b+c"), ("/%c3%A9%2f?x", "/é/"), ("/%0a", "/\n"),
            ("/?a?b", "/"), ("/%", nil), ("/%2", nil), ("/%2g", nil), ("/%g2", nil), ("/%00", nil),
            ("/%ff", nil), ("/%4A%4a%4F%4f", "/JJOO"), ("/%:0", nil), ("/%/0", nil), ("/%`0", nil),
            ("/%@0", nil), ("/%G0", nil),
        ]
        for (target, path) in paths { #expect(request(target).path == path, "\(target)") }
        #expect(request("/a%20b?c").targetLength == 8)
    }

    @Test func `parameters are pairs between ampersands, with plus signs for spaces`() {
        let found = request("/x?a=1&b&c==2+3&&%61=%2B&=e").parameters ?? []
        #expect(found.map(\.name) == ["a", "b", "c", "a", ""])
        #expect(found.map(\.value) == ["1", "", "=2 3", "+", "e"])
        let first = request("/x?a=1&a=2&b=")
        #expect(first.parameter("a") == "1" && first.parameter("b") == "")
        #expect(first.parameter("c") == nil)
        for target in ["/x", "/x?", "/x?&"] { #expect(request(target).parameters?.isEmpty == true) }
        for target in ["/x?a=%", "/x?%zz=1", "/x?a=1&b=%ff", "/x?a=%00"] {
            #expect(request(target).parameters?.count == nil, "\(target)")
            #expect(request(target).parameter("a") == nil, "\(target)")
        }
    }

    @Test func `fields are found by names in lower case, and cookies in all of their fields`() {
        let header: [(name: String, value: String)] = [
            ("Cookie", "a=1; b=2;\t a = 3 ;a"), ("X-K\u{212A}", "kelvin"), ("COOKIE", "a==;ab=4"),
        ]
        let found = request("/", header)
        #expect(found.header.map(\.name) == ["cookie", "x-k\u{212A}", "cookie"])
        #expect(found.values(of: "cookie") == ["a=1; b=2;\t a = 3 ;a", "a==;ab=4"])
        #expect(found.values(of: "Cookie") == [])
        #expect(found.values(of: "x-kk") == [])
        #expect(found.cookies("a") == ["1", "3", "="])
        #expect(found.cookies("b") == ["2"] && found.cookies("c") == [])
    }

    @Test func `the name of a field has the characters of a token alone`() {
        let valid = Set("abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~".utf8)
        for byte in UInt8(0)..<0x80 {
            let name = String(UnicodeScalar(byte))
            let lower = UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte + 32 : byte
            let found = request("/", [("x", ""), ("a" + name, "")]).invalidHeaderName
            let isValid = valid.contains(lower)
            #expect((found == nil) == isValid, "byte \(byte)")
        }
        for name in ["", "é", "a b"] {
            #expect(request("/", [("x", ""), (name, "1"), ("", "")]).invalidHeaderName == name)
        }
        #expect(request("/").invalidHeaderName == nil)
    }

    @Test func `a header has its length, and announces that of the body`() {
        // GET /abc HTTP/1.1, and the end of the line.
        #expect(request("/abc").headerLength == 19)
        #expect(request("/abc", [("Host", "x"), ("é", "")]).headerLength == 19 + 9 + 6)
        #expect(request("/").announcedLength == nil)
        let lengths: [(text: String, length: UInt64)] = [
            ("0", 0), ("7", 7), ("x", .max), ("-1", .max), ("", .max),
        ]
        for (text, length) in lengths {
            let header = [(name: "Content-Length", value: text)]
            #expect(request("/", header).announcedLength == length, "\(text)")
        }
        let several = [(name: "content-length", value: "1"), (name: "Content-Length", value: "2")]
        #expect(request("/", several).announcedLength == 1)
    }

    @Test func `an address is one of the machine, of the network or of all networks`() throws {
        let addresses: [(text: String, kind: String)] = [
            ("127.0.0.1", "loopback"), ("127.255.0.9", "loopback"), ("localhost", "loopback"),
            ("128.0.0.1", ""), ("126.0.0.1", ""), ("10.0.0.127", ""), ("0.0.0.0", "wildcard"),
            ("0.0.0.1", ""), ("::1", "loopback IPv6"), ("::", "wildcard IPv6"), ("::2", " IPv6"),
            ("1::1", " IPv6"), ("1::", " IPv6"),
        ]
        for (text, kind) in addresses {
            let found = try #require(ListeningAddress(text, port: 7))
            #expect(found.isLoopback == kind.hasPrefix("loopback"), "\(text)")
            #expect(found.isWildcard == kind.hasPrefix("wildcard"), "\(text)")
            #expect(found.isIPv6 == kind.hasSuffix("IPv6"), "\(text)")
            #expect(found.port == 7)
        }
        for text in ["", "host.example", "1.2.3", "[::1]", "1.2.3.4:80", "localhost."] {
            #expect(ListeningAddress(text, port: 7)?.host == nil, "\(text)")
        }
    }
}

import JSON
import TestKit
import Testing

@Suite("Members are found as the contract says")
struct MemberTests {
    private func integer(_ text: String, _ name: StaticString) throws -> JSONNumber? {
        try withParsed(text) { $0.member(name)?.number }
    }

    @Test("of duplicate names the first wins")
    func firstWins() throws {
        #expect(try integer(#"{"id":1,"id":2}"#, "id") == .integer(1))
        #expect(try integer(#"{"x":0,"id":1,"y":{"id":3},"id":2}"#, "id") == .integer(1))
    }

    @Test("names compare after unescaping")
    func escapedNames() throws {
        #expect(try integer(#"{"\u0069d":1,"id":2}"#, "id") == .integer(1))
        #expect(try integer(#"{"id":1,"\u0069\u0064":2}"#, "id") == .integer(1))
        #expect(try integer(#"{"a\/b":1}"#, "a/b") == .integer(1))
        #expect(try integer(#"{"\\u0069d":1}"#, "id") == nil)
    }

    @Test("names compare as bytes: case and normal form matter")
    func bytewise() throws {
        #expect(try integer(#"{"ID":1}"#, "id") == nil)
        #expect(try integer("{\"e\u{301}\":1}", "\u{E9}") == nil)
        #expect(try integer(#"{"id\u0000":1}"#, "id") == nil)
    }

    @Test("a null that comes first hides a later value")
    func nullFirst() throws {
        let text = #"{"id":null,"id":2}"#
        #expect(try integer(text, "id") == nil)
        try withParsed(text) { value in
            #expect(value.firstMember("id")?.isNull == true)
            let members = value.members(JSONNames("id"))
            #expect(members[0] == nil)
        }
    }

    @Test("a value that is no object has no members, and one that is no array no elements")
    func otherKinds() throws {
        for text in ["[1]", "\"id\"", "1", "null", "true"] {
            try withParsed(text) { value in
                #expect(value.member("id") == nil)
                let members = value.members(JSONNames("id"))
                #expect(members[0] == nil)
                value.forEachMember { _, _ in Issue.record("a member of \(text)") }
            }
        }
        for text in ["{\"a\":1}", "\"id\"", "1", "null"] {
            let elements = try withParsed(text) { Array($0.elements) }
            #expect(elements.isEmpty)
        }
    }

    @Test("a value is of one kind only")
    func kinds() throws {
        try withParsed(#"["a",1,1.5,18446744073709551615,true,false,null,[],{}]"#) { value in
            let elements = Array(value.elements)
            #expect(elements.map { $0.string != nil } == [true] + Array(repeating: false, count: 8))
            #expect(
                elements.map { $0.number != nil }
                    == [false, true, true, true] + Array(repeating: false, count: 5))
            #expect(elements.map(\.boolean) == [nil, nil, nil, nil, true, false, nil, nil, nil])
            #expect(elements.map(\.isNull) == (0..<9).map { $0 == 6 })
            #expect(elements.map(\.isArray) == (0..<9).map { $0 == 7 })
            #expect(elements.map(\.isObject) == (0..<9).map { $0 == 8 })
        }
    }

    @Test("members found together are those found one by one, on random objects")
    func membersAgree() throws {
        var documents = RandomDocuments(random: SeededGenerator(seed: 11))
        let names = ["a", "ab", "id", "version", "skadn", "", "né"]
        var found = 0
        for _ in 0..<3_000 {
            let count = Int.random(in: 0...8, using: &documents.random)
            let members = (0..<count).map { _ in
                JSONTree.Member(
                    name: names.randomElement(using: &documents.random) ?? "",
                    value: documents.tree(depth: 4))
            }
            try withParsed(documents.write(.object(members))) { value in
                let together = value.members(
                    JSONNames("a", "ab", "id", "version", "skadn", "", "né"))
                let single = [
                    value.member("a"), value.member("ab"), value.member("id"),
                    value.member("version"), value.member("skadn"), value.member(""),
                    value.member("né"),
                ]
                for (index, one) in single.enumerated() {
                    #expect(together[index].map { JSONTree($0) } == one.map { JSONTree($0) })
                    let first = members.first { $0.name == names[index] }?.value
                    #expect(one.map { JSONTree($0) } == (first == .null ? nil : first))
                    if one != nil { found += 1 }
                }
            }
        }
        #expect(found > 3_000)
    }
}

import Testing

@Suite("Fixtures of postbacks")
struct PostbackFixtureTests {
    @Test("the records of a fixture give its rows", arguments: Fixture.all(of: "postbacks"))
    func fixture(_ fixture: Fixture) throws {
        let document = try fixture.document()
        let result = try foldPostbacks(Fixture.records(of: document))
        Fixture.check(result, against: document["expected"] ?? [:])
    }

    @Test("the fixtures are there")
    func present() {
        #expect(Fixture.all(of: "postbacks").count >= 3)
    }
}

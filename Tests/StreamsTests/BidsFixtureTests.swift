import Testing

@Suite("Fixtures of bids")
struct BidsFixtureTests {
    @Test("the records of a fixture give its rows", arguments: Fixture.all(of: "bids"))
    func fixture(_ fixture: Fixture) throws {
        let document = try fixture.document()
        let result = try foldBids(Fixture.records(of: document))
        Fixture.check(result, against: document["expected"] ?? [:])
    }

    @Test("the fixtures are there")
    func present() {
        #expect(Fixture.all(of: "bids").count >= 5)
    }
}

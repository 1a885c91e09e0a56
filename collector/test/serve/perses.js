// Perses's own plugin for Pyroscope asks for types, labels and a profile: perses.js ADDRESS TYPE SERVICE START END, in seconds; JSON on stdout
const plugin = '@perses-dev/pyroscope-plugin/lib/cjs';
const client = require(`${plugin}/model/pyroscope-client.js`);
const { getProfileData } = require(`${plugin}/plugins/pyroscope-profile-query/get-profile-data.js`);

const [address, profileType, service, start, end] = process.argv.slice(2);
const options = { datasourceUrl: `http://${address}`, headers: { 'content-type': 'application/json' } };

async function main() {
	const store = { getDatasourceClient: async () => ({ searchProfiles: (parameters) => client.searchProfiles(parameters, options) }) };
	const absoluteTimeRange = { start: new Date(start * 1000), end: new Date(end * 1000) };
	console.log(JSON.stringify({
		types: (await client.searchProfileTypes({}, options, { start: start * 1000, end: end * 1000 })).profileTypes.map((type) => type.ID),
		names: (await client.searchLabelNames({}, options, { start: start * 1000, end: end * 1000 })).names,
		services: (await client.searchServices({}, options)).names,
		profile: await getProfileData({ profileType, service, filters: [], maxNodes: 1000 }, { datasourceStore: store, absoluteTimeRange }),
	}));
}
main();

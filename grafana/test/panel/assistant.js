/*
 * assistant.js
 *		In place of Grafana's assistant, a part of its server that the panel asks for and can do without.
 */
export const OpenAssistantButton = () => null;
export const createAssistantContextItem = () => ({});
export const useAssistant = () => ({ isAvailable: false });

/*
 * assistant.js
 *		Replaces Grafana's assistant, which the panel imports but does not need.
 */
export const OpenAssistantButton = () => null;
export const createAssistantContextItem = () => ({});
export const useAssistant = () => ({ isAvailable: false });
